import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

/**
 * Live tasks of which the leader has to ask whether they still run. Wake 'reconcile' after the commit.
 * By hand: the leader looks every second.
 */
@Injectable()
export class ReconciliationWishRepository {
  /** A wish that waits already stays as it is. */
  async add(tx: Transaction, taskIds: readonly string[], now: number): Promise<void> {
    await tx.query(
      `INSERT INTO reconciliation_wish (task_id, asked_at) SELECT task_id, $2 FROM unnest($1::text[]) AS w (task_id)
       ON CONFLICT DO NOTHING`,
      [taskIds, new Date(now)],
    );
  }

  async any(tx: Queryable): Promise<boolean> {
    return (await rows(tx, 'SELECT 1 FROM reconciliation_wish LIMIT 1')).length > 0;
  }

  /** Takes the wishes away and answers the ids of their tasks. */
  async take(tx: Transaction): Promise<string[]> {
    const taken = await rows<{ task_id: string }>(tx, 'DELETE FROM reconciliation_wish RETURNING task_id');
    return taken.map((row) => row.task_id);
  }
}
