import { Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import {
  afterLivenessCheck,
  healthcheckTimings,
  type FailingState,
  livenessRules,
  type LivenessRules,
  passed,
  Reach,
  type WatchedInstance,
} from '../../../core/health/index.js';
import { Database } from '../../../platform/database/database.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import type { Poller } from '../../../platform/poller/poller.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { Rows } from '../../../rows.js';
import { CheckedTasks, type CheckedTask } from './checked-tasks.service.js';
import { HealthSwitch } from './health-switch.service.js';
import { ResultWriter } from './result-writer.js';
import { type FoundSick, SickTasks } from './sick-tasks.service.js';
import { TaskChecker } from './task-checker.service.js';
import type { LivenessChange } from './task-liveness.repository.js';
import { type TaskWatch, TaskWatches } from './task-watches.js';

/** Period in which tasks that have become healthy are looked for, and sick ones decided about. */
const lookEveryMs = 5_000;
/** Tasks turn sick by the hundred when what they all need breaks: they are decided about together. */
const decideEveryMs = 250;

/** A task that is asked again and again. What is well costs a check, and no row is written. */
interface Watch extends TaskWatch, WatchedInstance {
  rules: LivenessRules;
  /** Absent: it passed its last check. */
  state: FailingState | undefined;
}

/** Asks tasks that were healthy whether they are still, on the leader, and has those replaced that are not. */
@Injectable()
export class LivenessMonitor implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Logger(LivenessMonitor.name);
  private readonly watches = new TaskWatches<Watch>();
  private readonly writer = new ResultWriter<LivenessChange>(
    (batch) => this.db.leaderTransaction((tx) => this.rows.taskLiveness.store(tx, batch)),
    (cause) => this.log.warn(`Results of liveness checks were not stored: ${String(cause)}`),
  );
  private poller: Poller | undefined;
  private lastLook = Number.NEGATIVE_INFINITY;
  private lastDecision = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly tasks: CheckedTasks,
    private readonly checker: TaskChecker,
    private readonly sickTasks: SickTasks,
    private readonly health: HealthSwitch,
    private readonly leadership: Leadership,
    private readonly pollers: Pollers,
  ) {}

  onModuleInit(): void {
    const pass = (now: number) => this.pass(now);
    this.poller = this.watches.lead(
      this.pollers,
      this.leadership,
      { name: 'liveness', everyMs: lookEveryMs, pass, wakeOn: ['actions'] },
      () => this.forgetAll(),
    );
  }

  beforeApplicationShutdown(): void {
    this.forgetAll();
  }

  /** Too early: answers when. */
  private async pass(now: number): Promise<number | undefined> {
    if (now < this.lastLook || now >= this.lastLook + lookEveryMs / 2) await this.runOnce(now);
    const next = this.lastDecision + decideEveryMs;
    if (now >= this.lastDecision && now < next) return next;
    return this.decide(now);
  }

  /** Watches every task that asks for it. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    this.lastLook = now;
    const tx = this.db.pool;
    const { healthchecksDisabled } = await this.health.inForce(tx);
    const wanted = healthchecksDisabled ? new Map<string, number>() : await this.rows.watchedTasks.withLiveness(tx);
    this.watches.keep(wanted);
    await this.dropUnwatched(wanted);
    const unread = [...wanted].filter(([id, version]) => this.watches.get(id)?.version !== version).map(([id]) => id);
    if (unread.length === 0) return;
    const states = await this.rows.taskLiveness.find(tx, unread);
    for (const task of await this.tasks.load(tx, unread)) {
      const { id } = task.live.taskId;
      this.take(task, wanted.get(id)!, states.get(id), now);
    }
  }

  /** Tasks that are not asked any more, as their request skips checks from now on, are neither well nor sick. */
  private async dropUnwatched(wanted: ReadonlyMap<string, number>): Promise<void> {
    const failing = await this.rows.taskLiveness.taskIds(this.db.pool);
    const unwatched = failing.filter((id) => !wanted.has(id));
    if (unwatched.length > 0) await this.db.leaderTransaction((tx) => this.rows.taskLiveness.remove(tx, unwatched));
  }

  /** Decides about the tasks that are sick. Answers when a pause between replacements is over. */
  async decide(now: number): Promise<number | undefined> {
    this.lastDecision = now;
    const sick = [...this.watches.all()].filter(({ state }) => state?.sickSince !== undefined);
    if (sick.length === 0) return undefined;
    const reach = new Reach(this.watches.all());
    return this.sickTasks.decide(
      sick.map((watch): FoundSick => {
        const { task, rules, state, own } = watch;
        // Without a check of its own there is no judgement.
        const lastFailedAt = own?.at ?? Number.NEGATIVE_INFINITY;
        return { task, rules, state: state!, lastFailedAt, isJudged: reach.canJudge(watch, state!.sickSince!) };
      }),
      now,
    );
  }

  private take(task: CheckedTask, version: number, stored: FailingState | undefined, now: number): void {
    const { taskId, slaveId } = task.live;
    const rules = livenessRules(task.context.deploy.healthcheck, task.context.settings);
    if (!rules) return this.watches.forget(taskId.id);
    const known = this.watches.get(taskId.id);
    if (known) {
      known.task = task;
      known.version = version;
      return;
    }
    const { requestId } = taskId;
    const ending = new AbortController();
    const watch: Watch = { requestId, slaveId, task, rules, version, state: stored, ending };
    this.watches.set(watch);
    // Spread over the interval: a new leader finds thousands at once.
    this.plan(watch, Math.max(0, startsAt(task) - now) + Math.random() * rules.intervalMillis);
  }

  private plan(watch: Watch, millis: number): void {
    watch.cancel = this.checker.after(millis, () => {
      this.check(watch).catch((cause: unknown) =>
        tellFailure(this.log, `Liveness check of ${watch.task.live.taskId.id} broke`, cause),
      );
    });
  }

  private async check(watch: Watch): Promise<void> {
    const { signal } = watch.ending;
    const answer = await this.checker.checkLiveness(watch.task, watch.rules, signal);
    if (!answer || signal.aborted) return;
    const { result, answered } = answer;
    const { taskId } = result;
    const former = watch.state;
    const state = afterLivenessCheck(former, { at: result.timestamp, passed: passed(result) }, watch.rules);
    // Below the threshold nothing follows from it.
    const isTold = state !== former && (state ?? former)?.sickSince !== undefined;
    if (state !== former) {
      const isStored = await this.writer.add({ taskId, result, state, isTold });
      if (signal.aborted) return;
      // It has ended, or the database is away: it is read again.
      if (!isStored) return this.watches.forget(taskId.id);
    }
    watch.state = state;
    watch.own = { at: result.timestamp, answered };
    this.plan(watch, watch.rules.intervalMillis);
    if (isTold) this.poller?.wake();
  }

  private forgetAll(): void {
    this.sickTasks.forgetDecisions();
    this.watches.forgetAll();
  }
}

/** A task whose deploy does not wait for its health gets the time that it may need to start. */
function startsAt({ live, context }: CheckedTask): number {
  if (live.healthchecksFinished || live.runningAt === undefined) return 0;
  const { startupTimeoutMillis } = healthcheckTimings(context.deploy.healthcheck ?? {}, context.settings);
  return live.runningAt + startupTimeoutMillis;
}
