import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import type { ClockLimit } from '../../platform/clock-limit.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { HeldStatusUpdateEntity } from './held-status-update.entity.js';

/** Updates that could not be stored, and those of the same tasks behind them. */
@Injectable()
export class HeldStatusUpdateRepository {
  async taskIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ task_id: string }>(tx, 'SELECT DISTINCT task_id FROM held_status_update');
    return found.map((row) => row.task_id);
  }

  async insert(tx: Transaction, held: Omit<HeldStatusUpdateEntity, 'id'>): Promise<void> {
    await tx.getRepository(HeldStatusUpdateEntity).insert(held as HeldStatusUpdateEntity);
  }

  /** All updates of the tasks of which one is due, oldest first; `attempts`: the most of their task. */
  due(
    tx: Queryable,
    now: number,
  ): Promise<{ id: number; task_id: string; attempts: number; document: StatusUpdate }[]> {
    return rows(
      tx,
      `SELECT id, task_id, max(attempts) OVER (PARTITION BY task_id) AS attempts, document FROM held_status_update
       WHERE task_id IN (SELECT task_id FROM held_status_update WHERE next_attempt_at <= $1) ORDER BY id`,
      [new Date(now)],
    );
  }

  async remove(tx: Transaction, ids: readonly number[]): Promise<void> {
    await tx.getRepository(HeldStatusUpdateEntity).delete({ id: In([...ids]) });
  }

  anyOf(tx: Queryable, taskId: string): Promise<boolean> {
    return tx.getRepository(HeldStatusUpdateEntity).existsBy({ taskId });
  }

  async postpone(
    tx: Transaction,
    taskId: string,
    changes: Pick<HeldStatusUpdateEntity, 'attempts' | 'nextAttemptAt' | 'waitsSince' | 'lastError'>,
  ): Promise<void> {
    await tx.getRepository(HeldStatusUpdateEntity).update({ taskId }, changes);
  }

  /** Updates that wait since a time in the future are due now. Returns their number. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const due = await rows(
      tx,
      `UPDATE held_status_update SET next_attempt_at = $1, waits_since = $1, held_at = least(held_at, $1)
       WHERE next_attempt_at > $1 AND greatest(held_at, waits_since) > $2 RETURNING 1`,
      [now, latest],
    );
    return due.length;
  }

  /** Count of held updates, with the task and the error of the oldest. */
  async summary(tx: Queryable): Promise<{ count: number; taskId?: string; lastError?: string }> {
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
}
