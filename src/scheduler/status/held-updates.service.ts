import { Injectable, Logger } from '@nestjs/common';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { backOffMillis } from '../../core/back-off.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { HeldStatusUpdateRepository } from './held-status-update.repository.js';

/** Updates of one task that are to be tried again, oldest first. */
export interface HeldTaskUpdates {
  taskId: string;
  attempts: number;
  updates: { id: number; update: StatusUpdate }[];
}

const firstWaitMillis = 1_000;
const longestWaitMillis = 300_000;
/** Pause after the given number of failed attempts. */
const waitMillis = (attempts: number): number => backOffMillis(attempts + 1, firstWaitMillis, longestWaitMillis);

/**
 * Updates that could not be stored although the database was there. Each waits in a row of its own, tried again with
 * growing pauses for as long as it takes, and all later updates of its task wait behind it.
 */
@Injectable()
export class HeldUpdates {
  private readonly log = new Logger(HeldUpdates.name);
  /** Only the leader holds updates, so it knows them all. */
  private taskIds = new Set<string>();
  /** Tasks of which an update was appended since they were looked at last. */
  private readonly appended = new Set<string>();

  constructor(
    private readonly store: HeldStatusUpdateRepository,
    private readonly clock: Clock,
  ) {}

  /** At the beginning of leading: what an earlier leader held. */
  async load(tx: Queryable): Promise<void> {
    this.taskIds = new Set(await this.store.taskIds(tx));
  }

  has(taskId: string): boolean {
    return this.taskIds.size > 0 && this.taskIds.has(taskId);
  }

  /** Further updates of tasks of which some are held. */
  async append(tx: Transaction, updates: readonly StatusUpdate[]): Promise<void> {
    for (const update of updates) await this.insert(tx, update, 'Waits for an earlier one of its task');
    // Those before may have been released meanwhile, when these were not to be seen yet.
    tx.afterCommit(() => {
      for (const { taskId } of updates) {
        this.taskIds.add(taskId);
        this.appended.add(taskId);
      }
    });
  }

  /** The first one of its task. It counts as held before the row is there: a later update must not get ahead of it. */
  async hold(tx: Transaction, update: StatusUpdate, cause: unknown): Promise<void> {
    this.taskIds.add(update.taskId);
    const error = String(cause);
    this.log.error(`Cannot store ${update.state} of task '${update.taskId}', trying again later: ${error}`, cause);
    await this.insert(tx, update, error);
  }

  /** Tasks whose oldest update is due. */
  async due(tx: Queryable, now: number): Promise<HeldTaskUpdates[]> {
    const tasks = new Map<string, HeldTaskUpdates>();
    for (const { id, task_id: taskId, attempts, document } of await this.store.due(tx, now)) {
      const task = tasks.get(taskId) ?? { taskId, attempts, updates: [] };
      task.updates.push({ id, update: document });
      tasks.set(taskId, task);
    }
    return [...tasks.values()];
  }

  async release(tx: Transaction, { updates }: HeldTaskUpdates): Promise<void> {
    await this.store.remove(
      tx,
      updates.map(({ id }) => id),
    );
  }

  /** After the commit of `release`: updates of the task are stored directly again, unless more came meanwhile. */
  async released(tx: Queryable, { taskId }: HeldTaskUpdates): Promise<void> {
    this.appended.delete(taskId);
    const isHeld = await this.store.anyOf(tx, taskId);
    if (!isHeld && !this.appended.has(taskId)) this.taskIds.delete(taskId);
  }

  async failedAgain(tx: Transaction, { taskId, attempts }: HeldTaskUpdates, cause: unknown): Promise<void> {
    const now = this.clock.now();
    await this.store.postpone(tx, taskId, {
      attempts: attempts + 1,
      nextAttemptAt: new Date(now + waitMillis(attempts + 1)),
      waitsSince: new Date(now),
      lastError: String(cause),
    });
  }

  /** Count of held updates, with the reason of the oldest. */
  summary(tx: Queryable): Promise<{ count: number; taskId?: string; lastError?: string }> {
    return this.store.summary(tx);
  }

  private insert(tx: Transaction, update: StatusUpdate, error: string): Promise<void> {
    const now = this.clock.now();
    return this.store.insert(tx, {
      taskId: update.taskId,
      heldAt: new Date(now),
      attempts: 0,
      nextAttemptAt: new Date(now + waitMillis(0)),
      lastError: error,
      document: update,
    });
  }
}
