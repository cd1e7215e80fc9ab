import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { promisedTypes, runWith } from '../../core/deploys/index.js';
import type { PendingTask } from '../../core/model/task.js';
import { rows } from '../../platform/database/sql.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';

/** Runs of a job that somebody asked for and that wait when a new deploy begins. */
@Injectable()
export class WaitingRuns {
  constructor(private readonly queue: PendingQueue) {}

  /**
   * They run with the new deploy. In the transaction that makes it the active one: a moment later the scheduler would
   * drop what waits under the old one. The request's row is locked in `tx`.
   */
  async moveTo(tx: EntityManager, requestId: string, deployId: string): Promise<void> {
    await tx.query(
      `UPDATE pending_request SET deploy_id = $2, document = jsonb_set(document, '{deployId}', to_jsonb($2::text))
       WHERE request_id = $1 AND deploy_id <> $2 AND pending_type = ANY ($3)`,
      [requestId, deployId, promisedTypes],
    );
    const waiting = await rows<{ document: PendingTask }>(
      tx,
      // The rows themselves are the leader's to remove.
      `UPDATE pending_task SET delete_requested = true
       WHERE request_id = $1 AND deploy_id <> $2 AND pending_type = ANY ($3) AND NOT delete_requested RETURNING document`,
      [requestId, deployId, promisedTypes],
    );
    for (const { document } of waiting) await this.queue.enqueue(tx, runWith(deployId, document));
  }
}
