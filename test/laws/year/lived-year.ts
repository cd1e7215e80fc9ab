import { decideKills, decideRequestCleanup, killGraceMillis } from '../../../src/core/cleanup/index.js';
import { completeTask, type EndedTask, noCounts } from '../../../src/core/completion/index.js';
import { isRunnable, promisedTypes, type TaskCleanupType } from '../../../src/core/model/enums.js';
import { isDue, type PendingRequest, type PendingTask, type TaskId } from '../../../src/core/model/task.js';
import { drain, planRuns } from '../../../src/core/pending-work/index.js';
import { placeTasks } from '../../../src/core/placement/index.js';
import { exclusionAt, plansAhead, readTimetable, type Timetable } from '../../../src/core/schedules/index.js';
import {
  day,
  lifeOf,
  minute,
  repairMillis,
  spanAt,
  type Start,
  yearBegins,
  yearEnds,
  type YearCase,
} from './year-case.js';
import { endOf, type Process, type Rows, type TaskRow } from './year-rows.js';
import {
  activeTasks,
  cleanupView,
  placementSnapshot,
  requestCleanupView,
  rules,
  settings,
  waitingRequest,
} from './year-views.js';

/** Outcome of a year. */
export interface LivedYear {
  starts: Start[];
  /** Times for which tries after the first were planned, by planned time of the run and number of the try. */
  retriesAt: Map<string, number>;
}

export const tryKey = (at: number, attempt: number): string => `${at} ${attempt}`;

/** The year of one request, as the core decides it: time goes from event to event, and leaders die. */
export function liveYear(given: YearCase): LivedYear {
  const scheduler = new RequestYear(given);
  scheduler.run();
  return { starts: scheduler.starts, retriesAt: scheduler.retriesAt };
}

class RequestYear {
  readonly starts: Start[] = [];
  readonly retriesAt = new Map<string, number>();
  private rows: Rows;
  private readonly processes = new Map<string, Process>();
  /** Orders of people, in their order. */
  private readonly orders: { at: number; kind: 'PAUSE' | 'UNPAUSE' }[];
  private readonly launches = new Map<string, number>();
  private readonly timetable: Timetable;
  /** The absence after which its last leader came. */
  private ledSince: number | undefined;

  constructor(private readonly given: YearCase) {
    const timetable = readTimetable(given.request, yearBegins);
    if ('errors' in timetable) throw new Error(JSON.stringify(timetable.errors));
    this.timetable = timetable;
    this.orders = given.pauses.flatMap(({ from, to }) => [
      { at: from, kind: 'PAUSE' as const },
      { at: to, kind: 'UNPAUSE' as const },
    ]);
    this.rows = {
      state: 'ACTIVE',
      queue: [this.entry('NEW_DEPLOY', yearBegins)],
      pending: [],
      tasks: [],
      counts: noCounts,
      startedRuns: 0,
      changedAt: yearBegins,
    };
  }

  run(): void {
    for (let now: number | undefined = yearBegins; now !== undefined && now <= yearEnds; now = this.nextEvent(now)) {
      while (this.orders.length > 0 && this.orders[0]!.at <= now) this.obey(this.orders.shift()!.kind, now);
      const absence = spanAt(this.given.absences, now);
      if (!absence) this.pass(now, true);
      else if (absence.diesAfterLook && absence.from === now) this.pass(now, false);
    }
  }

  private obey(kind: 'PAUSE' | 'UNPAUSE', now: number): void {
    if (kind === 'PAUSE' && this.rows.state === 'ACTIVE') this.pause(now);
    if (kind === 'UNPAUSE' && this.rows.state === 'PAUSED') {
      this.rows.state = 'ACTIVE';
      this.rows.changedAt = now;
      this.enqueue(this.entry('UNPAUSED', now));
    }
  }

  /** As `keptPlanning` writes it with the row of the request. */
  private pause(now: number): void {
    const { rows } = this;
    const waiting = rows.pending.filter(
      ({ trigger, pendingTaskId }) => trigger === 'SCHEDULE' && !promisedTypes.includes(pendingTaskId.pendingType),
    );
    rows.state = 'PAUSED';
    rows.changedAt = now;
    rows.pausing = { killTasks: false, timestamp: now };
    rows.planAt = undefined;
    if (rows.plannedUntil === undefined) return;
    rows.plannedUntil = Math.min(rows.plannedUntil, now, ...waiting.map(({ scheduledAt }) => scheduledAt! - 1));
  }

  private pass(now: number, survives: boolean): void {
    const { absences } = this.given;
    const last = absences.findLast(({ to }) => to <= now)?.to;
    if (last !== this.ledSince) this.takeOver((this.ledSince = last)!);
    this.takeEnds(now);
    for (let again = true; again;) again = this.drain(now);
    if (!survives) return;
    while (this.place(now));
    this.clean(now);
  }

  /** Nothing is known but what is stored. */
  private takeOver(now: number): void {
    this.rows = structuredClone(this.rows);
    const { state, pending, changedAt } = this.rows;
    if (!isRunnable(state)) return;
    if (pending.some(({ pendingTaskId }) => pendingTaskId.createdAt >= changedAt)) return;
    if (this.rows.queue.length === 0) this.enqueue(this.entry('STARTUP', now));
  }

  private takeEnds(now: number): void {
    const ended = this.rows.tasks
      .filter(({ taskId }) => this.processes.get(taskId.id)!.endsAt <= now)
      .toSorted((a, b) => this.processes.get(a.taskId.id)!.endsAt - this.processes.get(b.taskId.id)!.endsAt);
    for (const task of ended) {
      const process = this.processes.get(task.taskId.id)!;
      this.processes.delete(task.taskId.id);
      this.rows.tasks = this.rows.tasks.filter((other) => other !== task);
      this.complete(endOf(task, process), now);
    }
  }

  private complete(ended: EndedTask, now: number): void {
    const { rows } = this;
    const ofTask = { request: this.given.request, state: rows.state, activeDeployId: 'd1', changedAt: rows.changedAt };
    const result = completeTask(ended, ofTask, rows.counts, rules.cooldown, now);
    rows.counts = result.counts;
    if (result.cooldown) throw new Error('The runs of a year are too far apart for a cooldown');
    if (result.enqueue) {
      this.enqueue(result.enqueue);
      const { scheduledAt, attempt, runAt, trigger } = result.enqueue;
      const key = tryKey(scheduledAt!, attempt!);
      // A try that is lost is begun again under its number.
      if (trigger === 'RETRY' && !this.retriesAt.has(key)) this.retriesAt.set(key, runAt ?? now);
    }
    if (!result.pauses) return;
    this.pause(now);
    this.orders.push({ at: now + repairMillis, kind: 'UNPAUSE' });
    this.orders.sort((a, b) => a.at - b.at);
  }

  /** Answers whether entries wait for what was decided. */
  private drain(now: number): boolean {
    const { rows } = this;
    if (plansAhead(this.given.request)) {
      if (rows.queue.length > 0 || (rows.planAt !== undefined && rows.planAt <= now)) this.plan(now);
      return false;
    }
    if (rows.queue.length === 0) return false;
    const decision = drain(
      {
        request: waitingRequest(rows, this.given.request),
        deployId: 'd1',
        entries: rows.queue,
        tasks: activeTasks(rows),
        pendingTaskIds: new Set(rows.pending.map(({ pendingTaskId }) => pendingTaskId.id)),
        runWaits: rows.pending.some(({ pendingTaskId }) => promisedTypes.includes(pendingTaskId.pendingType)),
        failingFast: false,
      },
      rules.work,
      now,
    );
    rows.queue = rows.queue.filter((_, index) => ['hold', 'later'].includes(decision.outcomes[index]!.kind));
    if (decision.replacesPendingTasks) rows.pending = [];
    rows.pending.push(...decision.create);
    if (decision.finishes) rows.state = 'FINISHED';
    const kinds = decision.outcomes.map(({ kind }) => kind);
    return kinds.includes('scheduled') && kinds.includes('later');
  }

  private plan(now: number): void {
    const { rows } = this;
    const plan = planRuns(
      {
        request: waitingRequest(rows, this.given.request),
        entries: rows.queue,
        tasks: activeTasks(rows),
        pendingTasks: rows.pending,
        plannedUntil: rows.plannedUntil,
        failingFast: false,
      },
      rules.work.cooldownMinScheduleMillis,
      now,
    );
    rows.queue = [];
    rows.plannedUntil = plan.plannedUntil;
    rows.pending = rows.pending
      .filter(({ pendingTaskId }) => !plan.drop.includes(pendingTaskId.id))
      .map((task) => (plan.buffer.includes(task.pendingTaskId.id) ? { ...task, buffered: true } : task))
      .concat(plan.create);
    for (const task of rows.tasks) {
      if (plan.end.some(({ id }) => id === task.taskId.id)) this.order(task, 'REPLACED_BY_NEXT_RUN', now);
    }
    if (plan.finishes) rows.state = 'FINISHED';
    // Where the schedule has ended and all that waits waits for a run, a look a minute decides nothing: half a million in a year.
    const waitsForRuns = rows.pending.every(({ buffered }) => buffered) && plan.plannedUntil === now;
    rows.planAt = waitsForRuns && plan.lookAt === now + minute ? now + day : plan.lookAt;
  }

  private order(task: TaskRow, cleaning: TaskCleanupType, now: number): void {
    task.cleaning = cleaning;
    task.cleanedAt = now;
  }

  /** Answers whether a task was placed. */
  private place(now: number): boolean {
    const { rows, given } = this;
    const snapshot = placementSnapshot(rows, given, now);
    if (!snapshot) return false;
    let isPlaced = false;
    for (const outcome of placeTasks(snapshot, rules.placement, now, 1)) {
      if (outcome.kind === 'wait') continue;
      const { id } = outcome.pending.pendingTaskId;
      rows.pending = rows.pending.filter(({ pendingTaskId }) => pendingTaskId.id !== id);
      if (outcome.kind !== 'place') continue;
      isPlaced = true;
      this.start(outcome.pending, outcome.taskId, now);
    }
    return isPlaced;
  }

  private start(pendingTask: PendingTask, taskId: TaskId, now: number): void {
    const { rows, given } = this;
    const { scheduledAt: at, attempt = 1, trigger, pendingTaskId } = pendingTask;
    rows.tasks.push({ taskId, pendingTask, killed: false });
    if (given.request.maxRuns !== undefined && trigger === 'SCHEDULE' && pendingTaskId.pendingType !== 'RETRY')
      rows.startedRuns += 1;
    const key = tryKey(at!, attempt);
    const launch = this.launches.get(key) ?? 0;
    this.launches.set(key, launch + 1);
    const { runFor, end } = lifeOf(given, { at: at!, attempt, launch });
    this.processes.set(taskId.id, { endsAt: now + runFor, end });
    this.starts.push({ at: at!, attempt, start: now });
  }

  private clean(now: number): void {
    const { rows } = this;
    if (rows.pausing) this.carryOut(rows.pausing, now);
    if (!rows.tasks.some(({ cleaning, killed }) => cleaning !== undefined && !killed)) return;
    for (const { kind, cleanup } of decideKills(cleanupView(rows, this.given.request), now)) {
      if (kind !== 'kill') continue;
      const task = rows.tasks.find(({ taskId }) => taskId.id === cleanup.taskId.id)!;
      const process = this.processes.get(task.taskId.id)!;
      const grace = killGraceMillis(cleanup.cleanupType, undefined, { killGraceMillis: settings.hardKillAfterMillis });
      task.killed = true;
      if (process.endsAt > now + grace)
        this.processes.set(task.taskId.id, { endsAt: now + grace, end: { kind: 'KILLED' } });
    }
  }

  private carryOut({ killTasks, timestamp }: NonNullable<Rows['pausing']>, now: number): void {
    const { rows } = this;
    rows.pausing = undefined;
    const step = decideRequestCleanup(
      { requestId: this.given.request.id, cleanupType: 'PAUSING', timestamp, killTasks },
      requestCleanupView(rows),
      now,
    );
    if (step.kind !== 'clean') return;
    if (step.dropPendingTasks) rows.pending = [];
    for (const { taskId, cleanupType } of step.cleanups) {
      const task = rows.tasks.find((other) => other.taskId.id === taskId.id)!;
      if (task.cleaning === undefined) this.order(task, cleanupType, now);
    }
  }

  /** An entry that waits stays, unless it gives way as in `PendingRequestRepository`; runs that are tried again are entries of their own. */
  private enqueue(entry: PendingRequest): void {
    const { queue } = this.rows;
    const isSame = ({ pendingType }: PendingRequest): boolean => !promisedTypes.includes(pendingType);
    const waiting = isSame(entry) ? queue.findIndex(isSame) : -1;
    const givesWay = entry.pendingType === 'UNPAUSED' ? ['STARTUP', 'TASK_DONE', 'UNPAUSED'] : ['STARTUP'];
    if (waiting < 0) queue.push(entry);
    else if (givesWay.includes(queue[waiting]!.pendingType)) queue[waiting] = entry;
  }

  private entry(pendingType: PendingRequest['pendingType'], timestamp: number): PendingRequest {
    return { requestId: this.given.request.id, deployId: 'd1', timestamp, pendingType };
  }

  private nextEvent(now: number): number | undefined {
    const { rows, given } = this;
    const isFinished = rows.state === 'FINISHED' && rows.tasks.length === 0 && rows.pending.length === 0;
    if (isFinished) return undefined;
    let next = Number.POSITIVE_INFINITY;
    const at = (time: number | undefined): void => {
      if (time !== undefined && time > now && time < next) next = time;
    };
    for (const { endsAt } of this.processes.values()) at(endsAt);
    for (const { pendingTaskId } of rows.pending) at(pendingTaskId.nextRunAt);
    at(rows.planAt);
    at(this.orders[0]?.at);
    at(spanAt(given.absences, now)?.to);
    const waits = rows.pending.some(({ pendingTaskId }) => isDue(pendingTaskId, now));
    if (waits) at(spanAt(given.full, now)?.to);
    if (waits) at(exclusionAt(this.timetable, now)?.until);
    return next;
  }
}
