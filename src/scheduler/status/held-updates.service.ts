import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { Clock } from '../../platform/clock.js';
import { rows } from '../../platform/database/sql.js';

/** Updates of one task that are to be tried again, oldest first. */
export interface HeldTask {
  taskId: string;
  attempts: number;
  updates: { id: number; update: StatusUpdate }[];
}

const firstWaitMillis = 1_000;
const longestWaitMillis = 300_000;
/** Pause after the given number of failed attempts. */
const waitMillis = (attempts: number): number => Math.min(firstWaitMillis * 2 ** attempts, longestWaitMillis);

/**
 * Updates that could not be stored although the database was there. Each waits in a row of its own, tried again with
 * growing pauses for as long as it takes, and all later updates of its task wait behind it.
 */
@Injectable()
export class HeldUpdates {
  private readonly log = new Logger(HeldUpdates.name);
  /** Only the leader holds updates, so it knows them all. */
  private taskIds = new Set<string>();

  constructor(private readonly clock: Clock) {}

  /** At the beginning of leading: what an earlier leader held. */
  async load(tx: EntityManager): Promise<void> {
    const found = await rows<{ task_id: string }>(tx, 'SELECT DISTINCT task_id FROM held_status_update');
    this.taskIds = new Set(found.map((row) => row.task_id));
  }

  has(taskId: string): boolean {
    return this.taskIds.size > 0 && this.taskIds.has(taskId);
  }

  /** Further updates of tasks of which some are held. */
  async append(tx: EntityManager, updates: readonly StatusUpdate[]): Promise<void> {
    for (const update of updates) await this.insert(tx, update, 'Waits for an earlier one of its task');
  }

  /** The first one of its task. It counts as held before the row is there: a later update must not get ahead of it. */
  async hold(tx: EntityManager, update: StatusUpdate, cause: unknown): Promise<void> {
    this.taskIds.add(update.taskId);
    const error = String(cause);
    this.log.error(`Cannot store ${update.state} of task '${update.taskId}', trying again later: ${error}`, cause);
    await this.insert(tx, update, error);
  }

  /** Tasks whose oldest update is due. */
  async due(tx: EntityManager, now: number): Promise<HeldTask[]> {
    const found = await rows<{ id: number; task_id: string; attempts: number; document: StatusUpdate }>(
      tx,
      `SELECT id, task_id, max(attempts) OVER (PARTITION BY task_id) AS attempts, document FROM held_status_update
       WHERE task_id IN (SELECT task_id FROM held_status_update WHERE next_attempt_at <= $1) ORDER BY id`,
      [new Date(now)],
    );
    const tasks = new Map<string, HeldTask>();
    for (const { id, task_id: taskId, attempts, document } of found) {
      const task = tasks.get(taskId) ?? { taskId, attempts, updates: [] };
      task.updates.push({ id, update: document });
      tasks.set(taskId, task);
    }
    return [...tasks.values()];
  }

  async release(tx: EntityManager, { updates }: HeldTask): Promise<void> {
    await tx.query('DELETE FROM held_status_update WHERE id = ANY ($1)', [updates.map(({ id }) => id)]);
  }

  /** After the commit of `release`: updates of the task are stored directly again, unless more came meanwhile. */
  async released(tx: EntityManager, { taskId }: HeldTask): Promise<void> {
    const more = await rows(tx, 'SELECT 1 FROM held_status_update WHERE task_id = $1 LIMIT 1', [taskId]);
    if (more.length === 0) this.taskIds.delete(taskId);
  }

  async failedAgain(tx: EntityManager, { taskId, attempts }: HeldTask, cause: unknown): Promise<void> {
    await tx.query(
      'UPDATE held_status_update SET attempts = $2, next_attempt_at = $3, last_error = $4 WHERE task_id = $1',
      [taskId, attempts + 1, new Date(this.clock.now() + waitMillis(attempts + 1)), String(cause)],
    );
  }

  /** How many updates are held, and why the oldest is. */
  async summary(tx: EntityManager): Promise<{ count: number; taskId?: string; lastError?: string }> {
    const [found] = await rows<{ count: number; task_id: string | null; last_error: string | null }>(
      tx,
      `SELECT count(*) AS count, (array_agg(task_id ORDER BY id))[1] AS task_id,
         (array_agg(last_error ORDER BY id))[1] AS last_error FROM held_status_update`,
    );
    return {
      count: found?.count ?? 0,
      taskId: found?.task_id ?? undefined,
      lastError: found?.last_error ?? undefined,
    };
  }

  private async insert(tx: EntityManager, update: StatusUpdate, error: string): Promise<void> {
    await tx.query(
      `INSERT INTO held_status_update (task_id, held_at, attempts, next_attempt_at, last_error, document)
       VALUES ($1, $2, 0, $3, $4, $5)`,
      [
        update.taskId,
        new Date(this.clock.now()),
        new Date(this.clock.now() + waitMillis(0)),
        error,
        JSON.stringify(update),
      ],
    );
  }
}
