import { Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { nextCheck, passed, checkFailure } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import type { Poller } from '../../../platform/poller/poller.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { Wake } from '../../../platform/wake/wake.js';
import { CheckedTasks, type CheckedTask } from './checked-tasks.service.js';
import { WatchedTaskRepository } from './watched-task.repository.js';
import { TaskHealthcheckRepository } from './task-healthcheck.repository.js';
import { HealthSwitch } from './health-switch.service.js';
import { NewTaskCheckPoller, isOnItsOwn } from './new-task-check.poller.js';
import { TaskChecker } from './task-checker.service.js';
import { type TaskWatch, TaskWatches } from './task-watches.js';
import { ResultWriter } from './result-writer.js';
import { tellFailure } from '../../../platform/tell-failure.js';

/** Status batches come many times a second; looking for new tasks after each would be all the database does. */
const lookEveryMs = 250;
/** Tasks may become due without a call that says so, for instance when the request stops to skip checks. */
const lookAtLeastEveryMs = 5_000;

/** What its own checks say is added to the task as it was read. */
interface Watch extends TaskWatch {
  /** A check was asked for and its result is not stored yet. */
  inFlight: boolean;
}

/**
 * Asks tasks whether they are healthy, on the leader. The rows are the only truth: a new leader goes on where the last
 * one stopped. A task is read when it is new and when its request was changed; from one check to the next nothing is.
 */
@Injectable()
export class HealthMonitor implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Logger(HealthMonitor.name);
  private readonly watches = new TaskWatches<Watch>();
  private readonly writer = new ResultWriter<TaskHealthcheckResult>(
    (batch) => this.store(batch),
    (cause) => this.log.warn(`Results of health checks were not stored: ${String(cause)}`),
  );
  private poller: Poller | undefined;
  private lastLook = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly db: Database,
    private readonly tasks: CheckedTasks,
    private readonly watched: WatchedTaskRepository,
    private readonly checker: TaskChecker,
    private readonly results: TaskHealthcheckRepository,
    private readonly health: HealthSwitch,
    private readonly newTasks: NewTaskCheckPoller,
    private readonly leadership: Leadership,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly pollers: Pollers,
  ) {}

  onModuleInit(): void {
    this.poller = this.watches.lead(this.pollers, this.leadership, {
      name: 'healthchecks',
      everyMs: lookAtLeastEveryMs,
      pass: (now) => this.look(now),
      wakeOn: ['deploys', 'actions'],
    });
  }

  beforeApplicationShutdown(): void {
    this.watches.forgetAll();
  }

  /** Too early: answers when. */
  private async look(now: number): Promise<number | undefined> {
    const next = this.lastLook + lookEveryMs;
    if (now >= this.lastLook && now < next) return next;
    this.lastLook = now;
    await this.runOnce(now);
    return undefined;
  }

  /** Plans the next check of every task whose health is not settled. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    const tx = this.db.pool;
    const { healthchecksDisabled } = await this.health.inForce(tx);
    const unsettled = healthchecksDisabled ? new Map<string, number>() : await this.watched.unsettled(tx);
    this.watches.keep(unsettled);
    const unread = [...unsettled].filter(([id, version]) => this.isOutdated(id, version)).map(([id]) => id);
    const settled: string[] = [];
    for (const task of await this.tasks.load(tx, unread)) {
      const { id } = task.live.taskId;
      this.take(task, unsettled.get(id)!, now);
      if (task.watched.lastResult && passed(task.watched.lastResult)) settled.push(id);
    }
    // Passed on the word of a user: any instance writes that, but only the leader writes tasks.
    if (settled.length > 0) await this.db.leaderTransaction((leader) => this.results.finish(leader, settled));
  }

  /** A check in flight ends first: its result counts, and the task is read again when that is stored. */
  private isOutdated(id: string, version: number): boolean {
    const watch = this.watches.get(id);
    return !watch || (watch.version !== version && !watch.inFlight);
  }

  private take(task: CheckedTask, version: number, now: number): void {
    const { id } = task.live.taskId;
    const former = this.watches.get(id);
    // While the task was read a check of it may have begun.
    if (former?.inFlight) return;
    this.watches.forget(id);
    const watch: Watch = { task, version, ending: new AbortController(), inFlight: false };
    this.watches.set(watch);
    this.plan(watch, now);
    if (isCondemned(task, now)) this.newTasks.lookNow();
  }

  /** false: no further check. */
  private plan(watch: Watch, now: number): boolean {
    const next = nextCheck(watch.task.watched, watch.task.context, now);
    if (next.kind === 'stop') return false;
    watch.cancel = this.checker.after(next.at - now, () => this.begin(watch));
    return true;
  }

  private begin(watch: Watch): void {
    watch.inFlight = true;
    this.check(watch).catch((cause: unknown) =>
      tellFailure(this.log, `Health check of ${watch.task.live.taskId.id} broke`, cause),
    );
  }

  private async check(watch: Watch): Promise<void> {
    const result = await this.checker.check(watch.task, watch.ending.signal);
    if (!result) return;
    const isStored = await this.writer.add(result);
    if (watch.ending.signal.aborted) return;
    watch.inFlight = false;
    if (isStored) this.goOn(watch, result);
    else this.readAgain(watch);
  }

  private goOn(watch: Watch, result: TaskHealthcheckResult): void {
    const now = this.clock.now();
    watch.task = withResult(watch.task, result);
    if (this.plan(watch, now)) return;
    // Only now a deploy or a cleanup may draw a conclusion that it could not draw before.
    this.wake.signalOf([result.taskId.requestId], 'deploys', 'cleanup');
    if (isCondemned(watch.task, now) || newsForLoadBalancer(watch.task)) this.newTasks.lookNow();
  }

  /** The task has ended, was settled by another change, or the database is away. */
  private readAgain(watch: Watch): void {
    this.watches.forget(watch.task.live.taskId.id);
    this.poller?.wake();
  }

  private store(batch: readonly TaskHealthcheckResult[]): Promise<readonly string[]> {
    return this.db.leaderTransaction((tx) => this.results.store(tx, batch));
  }
}

/** The task as it would be read once this result is stored. */
export const withResult = (task: CheckedTask, result: TaskHealthcheckResult): CheckedTask => ({
  ...task,
  watched: {
    ...task.watched,
    // What is not needed to judge is not kept in memory for thousands of tasks.
    lastResult: { ...result, responseBody: undefined },
    checksCounted: task.watched.checksCounted + (result.startup ? 0 : 1),
  },
});

/** Failed at once, and was not ordered to go yet. */
export const isCondemned = (task: CheckedTask, now: number): boolean =>
  isOnItsOwn(task) && checkFailure(task.watched, task.context, now) === 'FAILURE_STATUS_CODE';

/** Healthy, and the load balancer does not know it yet. */
export const newsForLoadBalancer = (task: CheckedTask): boolean =>
  task.loadBalanced && isOnItsOwn(task) && task.watched.lastResult !== undefined && passed(task.watched.lastResult);
