import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../../cluster/cluster-driver.js';
import { checkFailure, healthcheckTimings, nextCheck } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import type { Poller } from '../../../platform/poller/poller.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { CheckedTasks, type CheckedTask } from './checked-tasks.service.js';
import { healthcheckTarget } from './healthcheck-target.js';
import { HealthcheckResults } from './healthcheck-results.service.js';
import { probe, type ProbeResult } from './http-probe.js';
import { Limiter } from './limiter.js';
import { NewTaskCheckPoller } from './new-task-check.poller.js';
import { ResultWriter } from './result-writer.js';

/** Status batches come many times a second; looking for new tasks after each would be all the database does. */
const lookEveryMs = 100;
/** Tasks may become due without anybody saying so, for instance when the request stops to skip checks. */
const lookAtLeastEveryMs = 5_000;

interface Watch {
  /** Epoch milliseconds of the check that is planned. */
  at: number;
  timer: NodeJS.Timeout;
  ending: AbortController;
  inFlight: boolean;
}

/**
 * Asks tasks whether they are healthy, on the leader. The rows are the only truth: after every result it looks again
 * which tasks are unsettled and plans the next check of each, so a new leader goes on where the last one stopped.
 */
@Injectable()
export class HealthMonitor implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Logger(HealthMonitor.name);
  private readonly watches = new Map<string, Watch>();
  private readonly limiter: Limiter;
  private readonly writer = new ResultWriter(
    (batch) => this.store(batch),
    (cause) => this.log.warn(`Results of health checks were not stored: ${String(cause)}`),
  );
  private poller: Poller | undefined;
  private lastLook = 0;

  constructor(
    private readonly db: Database,
    private readonly tasks: CheckedTasks,
    private readonly results: HealthcheckResults,
    private readonly newTasks: NewTaskCheckPoller,
    private readonly leadership: Leadership,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly pollers: Pollers,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.limiter = new Limiter(settings.maxConcurrentHealthchecks);
  }

  onModuleInit(): void {
    this.poller = this.pollers.register({
      name: 'healthchecks',
      everyMs: lookAtLeastEveryMs,
      pass: () => this.look(),
      wakeOn: ['deploys', 'actions'],
    });
    this.leadership.register({
      name: 'healthchecks',
      gained: () => Promise.resolve(this.poller?.wake()),
      lost: () => Promise.resolve(this.forgetAll()),
    });
  }

  beforeApplicationShutdown(): void {
    this.forgetAll();
  }

  private async look(): Promise<void> {
    const pause = this.lastLook + lookEveryMs - performance.now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    this.lastLook = performance.now();
    await this.runOnce(this.clock.now());
  }

  /** Plans the next check of every task whose health is not settled. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    const tasks = await this.tasks.load(this.db.manager, await this.tasks.unsettledIds(this.db.manager));
    const due = new Set<string>();
    for (const task of tasks) {
      const next = nextCheck(task.watched, task.context, now);
      if (next.kind === 'stop') {
        if (isCondemned(task, now)) this.newTasks.lookNow();
        continue;
      }
      due.add(task.watched.taskId.id);
      this.plan(task, next.at, now);
    }
    for (const id of this.watches.keys()) if (!due.has(id)) this.forget(id);
  }

  private plan(task: CheckedTask, at: number, now: number): void {
    const { id } = task.watched.taskId;
    const former = this.watches.get(id);
    if (former && (former.inFlight || former.at === at)) return;
    if (former) this.forget(id);
    const watch: Watch = {
      at,
      ending: new AbortController(),
      inFlight: false,
      timer: setTimeout(() => this.begin(task, watch), Math.max(at - now, 0)),
    };
    this.watches.set(id, watch);
  }

  private begin(task: CheckedTask, watch: Watch): void {
    this.limiter
      .run(() => this.check(task, watch))
      .catch((cause: unknown) => this.log.error(`Health check of ${task.live.taskId.id} broke`, cause));
  }

  private async check(task: CheckedTask, watch: Watch): Promise<void> {
    const { id } = task.watched.taskId;
    if (watch.ending.signal.aborted) return;
    watch.inFlight = true;
    const result = await this.ask(task, watch.ending.signal);
    if (watch.ending.signal.aborted) return;
    await this.writer.add(result);
    if (this.watches.get(id) === watch) this.watches.delete(id);
    // Plans the next one. Deploys hear of it only when something was stored.
    this.poller?.wake();
  }

  private async ask({ live, context }: CheckedTask, signal: AbortSignal): Promise<TaskHealthcheckResult> {
    const timestamp = this.clock.now();
    const begun = performance.now();
    const options = context.deploy.healthcheck!;
    const target = healthcheckTarget(live, options, this.driver.name === 'local');
    const { responseTimeoutMillis } = healthcheckTimings(options, context.settings);
    const limits = {
      timeoutMillis: responseTimeoutMillis,
      maxBodyBytes: this.settings.maxHealthcheckResponseBodyBytes,
    };
    const asked: ProbeResult =
      'errorMessage' in target ? { ...target, refused: false } : await probe({ ...target, ...limits }, signal);
    const { refused, ...answer } = asked;
    const durationMillis = Math.round(performance.now() - begun);
    return { taskId: live.taskId, timestamp, startup: refused, durationMillis, ...answer };
  }

  private async store(batch: readonly TaskHealthcheckResult[]): Promise<void> {
    await this.db.leaderTransaction((tx) => this.results.store(tx, batch));
    this.wake.signal('deploys', 'cleanup');
  }

  private forget(id: string): void {
    const watch = this.watches.get(id);
    if (!watch) return;
    clearTimeout(watch.timer);
    watch.ending.abort();
    this.watches.delete(id);
  }

  private forgetAll(): void {
    for (const id of this.watches.keys()) this.forget(id);
  }
}

/** Failed at once, and nobody has ordered it to go yet. */
const isCondemned = ({ watched, context, live }: CheckedTask, now: number): boolean =>
  !context.deployPending &&
  live.cleaning === undefined &&
  !live.killed &&
  checkFailure(watched, context, now) === 'FAILURE_STATUS_CODE';
