import { Injectable } from '@nestjs/common';
import { parsePendingTaskId } from '../../core/task-id.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { OutboxRepository } from '../events/outbox.repository.js';

/** Runs that were asked for and have not begun, in the queue and as pending tasks. By hand: a statement for each table. */
@Injectable()
export class WaitingRunRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /** Drops those of these runs that wait, and answers their ids. The row of the request is locked in `tx`. */
  async drop(tx: Transaction, requestId: string, runIds: readonly string[]): Promise<string[]> {
    const queued = await rows<{ deploy_id: string; run_id: string }>(
      tx,
      'DELETE FROM pending_request WHERE request_id = $1 AND run_id = ANY ($2) RETURNING deploy_id, run_id',
      [requestId, runIds],
    );
    const pending = await rows<{ id: string; run_id: string }>(
      tx,
      `UPDATE pending_task SET delete_requested = true WHERE request_id = $1 AND run_id = ANY ($2) AND NOT delete_requested
       RETURNING id, run_id`,
      [requestId, runIds],
    );
    await this.outbox.pendingTasks(tx, 'REMOVED', [
      ...queued.map((run) => ({ requestId, deployId: run.deploy_id })),
      ...pending.flatMap(({ id }) => parsePendingTaskId(id) ?? []),
    ]);
    return [...queued, ...pending].map((row) => row.run_id);
  }
}
