import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { newTaskVerdict, type NewTaskVerdict } from '../../../core/health/index.js';
import type { TaskId } from '../../../core/model/task.js';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import type { Poller } from '../../../platform/poller/poller.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import { CheckedTasks, type CheckedTask } from './checked-tasks.service.js';
import { tellFailure } from '../../../platform/tell-failure.js';

type OrderToGo = Extract<NewTaskVerdict, { kind: 'cleanup' }>;

/** Watches the tasks that no deploy in progress watches: those that never run, or never become healthy, have to go. */
@Injectable()
export class NewTaskCheckPoller implements OnModuleInit {
  private readonly log = new Logger(NewTaskCheckPoller.name);
  private poller: Poller | undefined;

  constructor(
    private readonly db: Database,
    private readonly tasks: CheckedTasks,
    private readonly rows: Rows,
    private readonly wake: Wake,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.poller = this.pollers.register({
      name: 'new-tasks',
      essential: true,
      everyMs: this.settings.checkNewTasksEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
    });
  }

  /** A status that fails a task at once need not wait for the next period. */
  lookNow(): void {
    this.poller?.wake();
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    const tx = this.db.pool;
    const launchedBefore = now - this.settings.killAfterTasksDoNotRunDefaultSeconds * 1000;
    const ids = [
      ...(await this.rows.watchedTasks.notRunningSince(tx, launchedBefore)),
      ...(await this.rows.watchedTasks.unsettled(tx)).keys(),
    ];
    const failures: unknown[] = [];
    let cleaned = false;
    for (const task of await this.tasks.load(tx, ids)) {
      if (!this.toGo(task, now)) continue;
      try {
        if (await this.order(task.live.taskId, now)) cleaned = true;
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        // The others are looked at all the same, and this one again in the next pass.
        tellFailure(this.log, `Task '${task.live.taskId.id}' cannot be told to go`, cause);
        failures.push(cause);
      }
    }
    if (cleaned) this.wake.signal('cleanup', 'webhooks');
    if (failures.length > 0) throw failures[0];
  }

  /** false: what was stored since the pass began lets it stay. */
  private order(taskId: TaskId, now: number): Promise<boolean> {
    return this.db.leaderTransaction(async (tx) => {
      await this.rows.requests.lock(tx, taskId.requestId);
      const [task] = await this.tasks.load(tx, [taskId.id]);
      const order = task && this.toGo(task, now);
      if (!order) return false;
      const { cleanupType, message } = order;
      await this.rows.taskCleanups.create(tx, { taskId, cleanupType, timestamp: now, message });
      if (cleanupType === 'UNHEALTHY_NEW_TASK') await this.rows.taskHealthchecks.pruneStartup(tx, [taskId.id]);
      return true;
    });
  }

  /** undefined: it may stay. */
  private toGo(task: CheckedTask, now: number): OrderToGo | undefined {
    if (!isOnItsOwn(task)) return undefined;
    const verdict = newTaskVerdict(task.watched, task.context, this.settings, now);
    return verdict.kind === 'cleanup' ? verdict : undefined;
  }
}

/** True for a task that is not part of a deploy in progress, and not ordered to go. */
export const isOnItsOwn = ({ context, live }: CheckedTask): boolean =>
  !context.deployPending && live.cleaning === undefined && !live.killed;
