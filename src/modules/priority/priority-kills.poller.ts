import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isFrozen } from '../../core/priority/index.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestStore } from '../requests/request-store.service.js';
import { TaskCleanups } from '../tasks/task-cleanups.service.js';
import { PriorityFreezes, type StoredFreeze } from './priority-freezes.service.js';
import { priorityRules } from './priority-rules.js';

/** A freeze may concern every task of the cluster: no transaction holds more locks than this. */
const tasksPerTransaction = 100;

/** Orders the end of tasks that run below the level of a freeze with killTasks: once per freeze. */
@Injectable()
export class PriorityKillsPoller {
  constructor(
    private readonly db: Database,
    private readonly freezes: PriorityFreezes,
    private readonly requests: RequestStore,
    private readonly cleanups: TaskCleanups,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({
      name: 'priority-kills',
      everyMs: settings.checkPriorityKillsEveryMillis,
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Repeating one that a crash cut off does no harm: the first cleanup of a task stays. */
  async runOnce(now: number): Promise<void> {
    const freeze = await this.freezes.find(this.db.leaderSource.manager);
    if (!freeze?.killWanted) return;
    const taskIds = await this.tasksBelow(this.db.leaderSource.manager, freeze);
    for (let first = 0; first < taskIds.length; first += tasksPerTransaction) {
      const batch = taskIds.slice(first, first + tasksPerTransaction);
      if (!(await this.whileInForce(freeze, (tx) => this.order(tx, batch, freeze, now)))) return;
      this.wake.signal('cleanup', 'webhooks');
    }
    await this.whileInForce(freeze, (tx) => this.freezes.killsDone(tx));
  }

  /** false, and nothing is done: the freeze was deleted or replaced. */
  private whileInForce(freeze: StoredFreeze, work: (tx: EntityManager) => Promise<void>): Promise<boolean> {
    return this.db.leaderTransaction(async (tx) => {
      const found = await this.freezes.find(tx, { lock: true });
      const isSame =
        found?.timestamp === freeze.timestamp && found.priorityFreeze.actionId === freeze.priorityFreeze.actionId;
      if (!isSame || !found.killWanted) return false;
      await work(tx);
      return true;
    });
  }

  /** Active tasks that nobody has told to go, in the order of their ids. A task whose request is unknown is left alone. */
  private async tasksBelow(tx: EntityManager, { priorityFreeze }: StoredFreeze): Promise<string[]> {
    const active = await rows<{ task_id: string; request_id: string }>(
      tx,
      `SELECT task_id, request_id FROM task WHERE ended_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = task.task_id) ORDER BY task_id`,
    );
    const requests = await this.requests.findMany(tx, [...new Set(active.map((task) => task.request_id))]);
    const rules = priorityRules(this.settings);
    const frozen = new Set(
      requests.filter(({ request }) => isFrozen(request, priorityFreeze, rules)).map(({ request }) => request.id),
    );
    return active.filter((task) => frozen.has(task.request_id)).map((task) => task.task_id);
  }

  private async order(
    tx: EntityManager,
    taskIds: readonly string[],
    { priorityFreeze: { message, actionId }, user }: StoredFreeze,
    now: number,
  ): Promise<void> {
    for (const id of taskIds) {
      await this.cleanups.create(tx, {
        // Task ids are made by this service, so each can be read.
        taskId: parseTaskId(id)!,
        cleanupType: 'PRIORITY_KILL',
        timestamp: now,
        user,
        message,
        actionId,
      });
    }
  }
}
