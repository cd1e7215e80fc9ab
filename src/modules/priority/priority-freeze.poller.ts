import { Inject, Injectable, Logger } from '@nestjs/common';
import { isFrozen } from '../../core/placement/index.js';
import { hasLapsed } from '../../core/requests/changes.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import { PriorityFreezeRepository, type StoredFreeze } from './priority-freeze.repository.js';
import { priorityRules } from './priority-rules.js';

/** Ends a priority freeze whose time is up, at its exact time. */
@Injectable()
export class FreezeExpiryPoller {
  private readonly log = new Logger(FreezeExpiryPoller.name);

  constructor(
    private readonly db: Database,
    private readonly freezes: PriorityFreezeRepository,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) settings: Settings,
  ) {
    pollers.register({
      name: 'expiring-priority-freeze',
      everyMs: settings.checkExpiringUserActionEveryMillis,
      wakeOn: ['expiring'],
      runsWhile: 'RUN_EXPIRING_ACTION_POLLER',
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Answers when the freeze lapses. */
  async runOnce(now: number): Promise<number | undefined> {
    const freeze = await this.freezes.find(this.db.leaderPool);
    if (freeze?.priorityFreeze.durationMillis === undefined) return undefined;
    if (!isOver(freeze, now)) return freeze.timestamp + freeze.priorityFreeze.durationMillis + 1;
    const ended = await this.db.leaderTransaction(async (tx) => {
      // It may have been replaced meanwhile.
      const found = await this.freezes.find(tx, { lock: true });
      return found !== undefined && isOver(found, now) && this.freezes.remove(tx);
    });
    if (ended) {
      this.log.log('The priority freeze has expired');
      this.wake.signal('scheduler');
    }
    return undefined;
  }
}

const isOver = ({ priorityFreeze: { durationMillis }, timestamp }: StoredFreeze, now: number): boolean =>
  durationMillis !== undefined && hasLapsed(timestamp, durationMillis, now);

/** A freeze may concern every task of the cluster: no transaction holds more locks than this. */
const tasksPerTransaction = 100;

/** Orders the end of tasks that run below the level of a freeze with killTasks: once per freeze. */
@Injectable()
export class PriorityKillsPoller {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
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
    const freeze = await this.rows.priorityFreezes.find(this.db.leaderPool);
    if (!freeze?.killWanted) return;
    // A placement that did not see the freeze has committed by then, and its tasks are found. Later ones see the freeze.
    await this.db.leaderTransaction((tx) => this.rows.slaves.lockFleet(tx));
    const taskIds = await this.tasksBelow(this.db.leaderPool, freeze);
    for (let first = 0; first < taskIds.length; first += tasksPerTransaction) {
      const batch = taskIds.slice(first, first + tasksPerTransaction);
      if (!(await this.whileInForce(freeze, (tx) => this.order(tx, batch, freeze, now)))) return;
      this.wake.signal('cleanup', 'webhooks');
    }
    await this.whileInForce(freeze, (tx) => this.rows.priorityFreezes.killsDone(tx));
  }

  /** false, and nothing is done: the freeze was deleted or replaced. */
  private whileInForce(freeze: StoredFreeze, work: (tx: Transaction) => Promise<void>): Promise<boolean> {
    return this.db.leaderTransaction(async (tx) => {
      const found = await this.rows.priorityFreezes.find(tx, { lock: true });
      const isSame =
        found?.timestamp === freeze.timestamp && found.priorityFreeze.actionId === freeze.priorityFreeze.actionId;
      if (!isSame || !found.killWanted) return false;
      await work(tx);
      return true;
    });
  }

  /** Active tasks without an order to go, in the order of their ids. A task whose request is unknown is left alone. */
  private async tasksBelow(tx: Queryable, { priorityFreeze }: StoredFreeze): Promise<string[]> {
    const active = await this.rows.tasks.withoutCleanup(tx);
    const requests = await this.rows.requests.findMany(tx, [...new Set(active.map(({ requestId }) => requestId))]);
    const rules = priorityRules(this.settings);
    const frozen = new Set(
      requests.filter(({ request }) => isFrozen(request, priorityFreeze, rules)).map(({ request }) => request.id),
    );
    return active.filter(({ requestId }) => frozen.has(requestId)).map(({ taskId }) => taskId);
  }

  private async order(
    tx: Transaction,
    taskIds: readonly string[],
    { priorityFreeze: { message, actionId }, user }: StoredFreeze,
    now: number,
  ): Promise<void> {
    await this.rows.taskCleanups.createAll(
      tx,
      taskIds.map((id) => ({
        // Task ids are made by this service, so each can be read.
        taskId: parseTaskId(id)!,
        cleanupType: 'PRIORITY_KILL',
        timestamp: now,
        user,
        message,
        actionId,
      })),
    );
  }
}
