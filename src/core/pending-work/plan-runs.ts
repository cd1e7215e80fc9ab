import { cleanupRules } from '../cleanup/index.js';
import { isRunnable, promisedTypes } from '../model/enums.js';
import type { PendingRequest, PendingTask } from '../model/task.js';
import type { TaskId } from '../model/task-ids.js';
import {
  decideDue,
  type DueTime,
  exclusionAt,
  latestStartAfter,
  missedAfterMillis,
  mostBuffered,
  nextTime,
  plannedTimes,
  runsAtOnce,
  type Timetable,
} from '../schedules/index.js';
import { plannedStart, startsLeft, timetableOf } from './next-run-at.js';
import { inherited, PendingTaskMaker } from './pending-task-maker.js';
import { type ActiveTask, type EntryOutcome, isBesideSchedule, type WaitingRequest } from './pending-work.js';

/** All that waits and runs of a request that `plansAhead`, whatever its deploy. */
export interface RunsToPlan {
  request: WaitingRequest;
  /** In the order of their timestamps. */
  entries: readonly PendingRequest[];
  tasks: readonly ActiveTask[];
  /** Its pending tasks that are wanted. */
  pendingTasks: readonly PendingTask[];
  /** Up to when its times are decided; undefined: none of them is, and none that has passed counts. */
  plannedUntil?: number;
  failingFast: boolean;
  /** Gives each run the id of the flow that it begins. Absent: no request follows this one. */
  newFlowId?: () => string;
}

export interface RunPlan {
  /** One per entry, in their order. */
  outcomes: EntryOutcome[];
  create: PendingTask[];
  /** Ids of pending tasks that go. */
  drop: string[];
  /** Ids of pending tasks whose time has come, and which wait for a run. */
  buffer: string[];
  /** Runs that are asked to end. */
  end: TaskId[];
  plannedUntil?: number;
  /** When to look again, whatever happens before. */
  lookAt?: number;
  /** Times that passed and get no run. */
  skipped: number;
  leavesCooldown: boolean;
  finishes: boolean;
}

interface WaitingTime extends DueTime {
  /** Absent: no pending task stands for it yet. */
  pending?: PendingTask;
}

/** A time of the schedule that waits. A run that is tried again stands for itself. */
export const isPlannedRun = ({ trigger, scheduledAt, pendingTaskId }: PendingTask): boolean =>
  trigger === 'SCHEDULE' && scheduledAt !== undefined && !promisedTypes.includes(pendingTaskId.pendingType);

/**
 * Decides about the times of one request: those that have passed since the last look by its policies, and its next one. Every look
 * comes before the tasks that are due are placed, so what goes on at a planned time is known at that time.
 */
export function planRuns(work: RunsToPlan, cooldownMinScheduleMillis: number, now: number): RunPlan {
  const { request: waiting, entries } = work;
  const plan: RunPlan = {
    outcomes: [],
    create: [],
    drop: [],
    buffer: [],
    end: [],
    plannedUntil: work.plannedUntil,
    skipped: 0,
    leavesCooldown: false,
    finishes: false,
  };
  const deployId = waiting.activeDeployId;
  if (!isRunnable(waiting.state) || deployId === undefined) {
    const why = deployId === undefined ? 'DEPLOY_NOT_IN_USE' : 'REQUEST_NOT_RUNNABLE';
    return { ...plan, outcomes: entries.map(() => ({ kind: 'obsolete', why })) };
  }
  new RunPlanning(work, deployId, cooldownMinScheduleMillis, now, plan).run();
  return plan;
}

class RunPlanning {
  private readonly maker: PendingTaskMaker;
  private readonly timetable: Timetable;
  /** By which the next run is planned, with what it says of it. */
  private readonly entry: PendingRequest;
  /** An exclusion that is not over, and the first time in it: its times are judged when it ends. */
  private openExclusion: { first: number; until: number } | undefined;
  /** Times in exclusions are made up for. */
  private readonly isMadeUpAfter: boolean;
  /** Times that passed unseen and are judged: no more can get a run. */
  private readonly mostPassed: number;
  /** Those that go on for the schedule. */
  private readonly tasks: readonly ActiveTask[];

  constructor(
    private readonly work: RunsToPlan,
    private readonly deployId: string,
    private readonly cooldownMinScheduleMillis: number,
    private readonly now: number,
    private readonly plan: RunPlan,
  ) {
    const { request: waiting, entries, pendingTasks } = work;
    this.tasks = work.tasks.filter((task) => !isBesideSchedule(task));
    this.maker = new PendingTaskMaker(() => false, work.newFlowId, pendingTasks);
    this.timetable = timetableOf(waiting);
    const { id: requestId, missedRuns } = waiting.request;
    this.mostPassed = mostBuffered + runsAtOnce(waiting.request);
    this.isMadeUpAfter = missedRuns !== undefined && missedRuns.policy !== 'SKIP';
    const asked = entries.find((entry) => entry.deployId === deployId && !promisedTypes.includes(entry.pendingType));
    this.entry = asked ?? { requestId, deployId, timestamp: now, pendingType: 'TASK_DONE' };
  }

  run(): void {
    const { request: waiting, entries, failingFast, tasks } = this.work;
    this.plan.outcomes = entries.map((entry) => this.take(entry));
    const isAsked = this.plan.outcomes.some(({ kind }) => kind === 'scheduled');
    this.plan.leavesCooldown = waiting.state === 'SYSTEM_COOLDOWN' && isAsked && !failingFast;
    const promised = this.promisedRuns();
    const retries = promised.filter(isRetry);
    // The next run replaces one that waits to be tried again as it does one that goes on.
    const replaces = waiting.request.overlapPolicy === 'REPLACE';
    const kept = this.keepDue(this.tasks.length + (replaces ? 0 : retries.length));
    if (replaces && kept.length > 0) this.takeBack(retries);
    const next = this.planNext(kept.length);
    this.findExclusion(next);
    const isIdle = tasks.length + promised.length + kept.length === 0;
    this.plan.finishes = isIdle && next === undefined && !this.openExclusion;
    this.plan.lookAt = this.nextLook(kept, next);
  }

  private take(entry: PendingRequest): EntryOutcome {
    if (entry.deployId !== this.deployId) return { kind: 'obsolete', why: 'DEPLOY_NOT_IN_USE' };
    if (promisedTypes.includes(entry.pendingType)) {
      const { at } = plannedStart(this.work.request, entry, this.cooldownMinScheduleMillis, this.now)!;
      this.create(entry, at, inherited(entry));
    }
    return { kind: 'scheduled' };
  }

  private promisedRuns(): PendingTask[] {
    return [...this.work.pendingTasks, ...this.plan.create].filter((task) => !isPlannedRun(task));
  }

  private keepDue(occupied: number): WaitingTime[] {
    const { request } = this.work.request;
    const { kept, skipped, replaces } = decideDue(this.dueTimes(), request, occupied, this.now);
    const room = startsLeft(this.work.request);
    for (const { time } of [...skipped, ...kept.slice(room)]) if (time.pending) this.drop(time.pending);
    this.plan.skipped += skipped.length;
    if (replaces && room > 0) this.plan.end = this.tasks.filter(mayBeEnded).map(({ taskId }) => taskId);
    return kept.slice(0, room).map(({ time, buffered }) => {
      if (!time.pending) this.createRun(time.at, this.now, { buffered });
      else if (buffered && !time.buffered) this.plan.buffer.push(time.pending.pendingTaskId.id);
      return { ...time, buffered };
    });
  }

  /** Times that have come and not started: those that wait as pending tasks, and those that passed without a look. */
  private dueTimes(): WaitingTime[] {
    const { request, pendingTasks, plannedUntil = this.now } = this.work;
    const pauseEnd = this.pauseEnd();
    const isMadeUpAfterPause = request.request.missedRuns !== undefined;
    const times = new Map<number, WaitingTime>();
    for (const pending of pendingTasks) {
      const { scheduledAt: at, buffered = false } = pending;
      if (at === undefined || at > this.now || !isPlannedRun(pending)) continue;
      const excluded = exclusionAt(this.timetable, at) !== undefined;
      const isOfPause = at <= pauseEnd;
      if (times.has(at) || (isOfPause && !isMadeUpAfterPause)) {
        this.drop(pending);
        continue;
      }
      // A pause takes the places of those that waited, also one that no leader saw.
      const time = { at, buffered: buffered && !isOfPause, excluded, ...(isOfPause && { unseen: true }) };
      const isOfDeploy = pending.pendingTaskId.deployId === this.deployId;
      if (isOfDeploy && buffered === time.buffered) times.set(at, { ...time, pending });
      else {
        // A new deploy takes over what waits under the old one.
        this.drop(pending);
        times.set(at, time);
      }
    }
    for (const time of this.passedTimes(isMadeUpAfterPause ? plannedUntil : Math.max(plannedUntil, pauseEnd))) {
      if (!times.has(time.at)) times.set(time.at, time);
    }
    return [...times.values()];
  }

  /** End of a pause that no look has seen. */
  private pauseEnd(): number {
    return Math.max(
      ...this.work.entries.filter(({ pendingType }) => pendingType === 'UNPAUSED').map(({ timestamp }) => timestamp),
    );
  }

  /** The newest, no more than can get a run; those before them are counted as skipped. */
  private passedTimes(from: number): WaitingTime[] {
    const all = this.timesAfter(from, mostCounted);
    if (all.isComplete) {
      this.plan.skipped += all.before;
      return all.newest;
    }
    this.plan.skipped += mostCounted - all.newest.length;
    // A schedule of every second has tens of thousands of times in a day, and only the last ones matter.
    const oldest = Math.max(from, this.now - latestStartAfter(this.work.request.request.missedRuns) - 1);
    for (let span = minuteMillis; ; span *= 2) {
      const start = Math.max(oldest, this.now - span);
      const { newest } = this.timesAfter(start);
      if (start === oldest || newest.length >= this.mostPassed) return newest;
    }
  }

  /** The newest of those up to now that may get a run, and how many there are before them. */
  private timesAfter(start: number, most = Number.POSITIVE_INFINITY) {
    const newest: WaitingTime[] = [];
    let before = 0;
    this.openExclusion = undefined;
    for (const { at, exclusion } of plannedTimes(this.timetable, start)) {
      if (at > this.now) break;
      if (newest.length + before >= most) return { newest, before, isComplete: false };
      if (exclusion && this.isMadeUpAfter && exclusion.until > this.now) {
        this.openExclusion = { first: at, until: exclusion.until };
        break;
      }
      if (exclusion && !this.isMadeUpAfter) {
        before += 1;
        continue;
      }
      newest.push({ at, buffered: false, excluded: exclusion !== undefined, unseen: true });
      if (newest.length <= this.mostPassed) continue;
      newest.shift();
      before += 1;
    }
    return { newest, before, isComplete: true };
  }

  /** Plans the next time, unless that is done. Answers the time. */
  private planNext(kept: number): number | undefined {
    const { request: waiting, pendingTasks } = this.work;
    const at = startsLeft(waiting) > kept ? nextTime(this.timetable, this.now) : undefined;
    let isPlanned = false;
    for (const pending of pendingTasks) {
      if (!isPlannedRun(pending) || pending.scheduledAt! <= this.now) continue;
      if (pending.scheduledAt === at && !isPlanned && pending.pendingTaskId.deployId === this.deployId)
        isPlanned = true;
      else this.drop(pending);
    }
    if (at !== undefined && !isPlanned) this.createRun(at, at, inherited(this.entry));
    this.plan.plannedUntil = at ?? this.now;
    return at;
  }

  private createRun(scheduledAt: number, at: number, details: Partial<PendingTask>): void {
    const { state } = this.work.request;
    const coolsDown = state === 'SYSTEM_COOLDOWN' && !this.plan.leavesCooldown;
    const earliest = coolsDown ? this.now + this.cooldownMinScheduleMillis : this.now;
    // Of those that are due the first one goes first.
    const start = Math.max(at, earliest) > this.now ? Math.max(at, earliest) : Math.min(scheduledAt, this.now);
    this.create(this.entry, start, { ...inherited(this.entry), ...details, trigger: 'SCHEDULE', scheduledAt });
  }

  private create({ pendingType, timestamp }: PendingRequest, nextRunAt: number, details: Partial<PendingTask>): void {
    const parts = { requestId: this.work.request.request.id, deployId: this.deployId, nextRunAt, pendingType };
    this.plan.create.push(this.maker.make({ ...parts, instanceNo: 1 }, Math.min(timestamp, this.now), details));
  }

  private takeBack(retries: readonly PendingTask[]): void {
    this.plan.create = this.plan.create.filter((task) => !retries.includes(task));
    for (const task of retries) if (this.work.pendingTasks.includes(task)) this.drop(task);
  }

  private drop({ pendingTaskId }: PendingTask): void {
    this.plan.drop.push(pendingTaskId.id);
  }

  private nextLook(kept: readonly WaitingTime[], next: number | undefined): number | undefined {
    const within = latestStartAfter(this.work.request.request.missedRuns);
    const starting = kept.filter(({ buffered }) => !buffered);
    const looks = starting.map(({ at }) => at + within + 1);
    // Of several that wait for machines one may become missed while a newer one is on time.
    const late = starting.length > 1 ? starting.map(({ at }) => at + missedAfterMillis + 1) : [];
    looks.push(...late.filter((at) => at > this.now));
    // What waits for a machine may give its place to the next time, also as the last run of `maxRuns`.
    const coming = next ?? (kept.length > 0 ? nextTime(this.timetable, this.now) : undefined);
    if (coming !== undefined) looks.push(coming);
    const exclusion = this.openExclusion;
    if (exclusion) {
      looks.push(exclusion.until);
      this.plan.plannedUntil = exclusion.first - 1;
    }
    const first = Math.min(...looks);
    if (Number.isFinite(first)) return first;
    // What goes on or waits may end without another look.
    return this.plan.finishes ? undefined : this.now + idleLookMillis;
  }

  /** Looks ahead to an exclusion before the next run. */
  private findExclusion(next: number | undefined): void {
    if (this.openExclusion || !this.isMadeUpAfter || !this.work.request.request.exclusions) return;
    const [first] = plannedTimes(this.timetable, this.now);
    if (!first?.exclusion || (next !== undefined && first.at >= next)) return;
    this.openExclusion = { first: first.at, until: first.exclusion.until };
  }
}

const isRetry = ({ pendingTaskId }: PendingTask): boolean => pendingTaskId.pendingType === 'RETRY';

const minuteMillis = 60_000;
/** Times that passed unseen and are counted one by one. */
const mostCounted = 4_000;

/** Delay before a request of which nothing more is planned is looked at again. */
const idleLookMillis = 60_000;

/** A run that goes on until its end, as through a pause or on a machine that is decommissioned, may be ended as well. */
const mayBeEnded = ({ cleaning, killed }: ActiveTask): boolean =>
  !killed && (cleaning === undefined || !cleanupRules[cleaning].othersAtOnce);
