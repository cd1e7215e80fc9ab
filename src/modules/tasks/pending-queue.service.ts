import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PendingRequest } from '../../core/model/task.js';
import { rows } from '../../platform/database/sql.js';

export type EnqueueResult = 'CREATED' | 'EXISTED';

/**
 * The queue of pending requests: wishes that a request's tasks be looked at, drained by the scheduler. Any instance may
 * add to it, inside the transaction of the change that makes it necessary; wake 'scheduler' after the commit.
 */
@Injectable()
export class PendingQueue {
  /**
   * At most one entry waits per request and deploy; ONEOFF, IMMEDIATE and retried runs count apart by time and run id. An entry that
   * exists stays and the newcomer is dropped (EXISTED), unless the one that waits is STARTUP: that one is replaced.
   */
  async enqueue(tx: EntityManager, entry: PendingRequest): Promise<EnqueueResult> {
    const stored = await rows(
      tx,
      `INSERT INTO pending_request AS waiting
         (request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (request_id, deploy_id, entry_key) DO UPDATE SET
         pending_type = excluded.pending_type, created_at = excluded.created_at, run_id = excluded.run_id,
         action_id = excluded.action_id, document = excluded.document
       WHERE waiting.pending_type = 'STARTUP' AND excluded.pending_type <> 'STARTUP'
       RETURNING id`,
      [
        entry.requestId,
        entry.deployId,
        entryKey(entry),
        entry.pendingType,
        new Date(entry.timestamp),
        entry.runId ?? null,
        entry.actionId ?? null,
        JSON.stringify(entry),
      ],
    );
    return stored.length > 0 ? 'CREATED' : 'EXISTED';
  }

  /** What waits, oldest first: of one request, or all. */
  async list(tx: EntityManager, requestId?: string): Promise<PendingRequest[]> {
    const found = await rows<{ document: PendingRequest }>(
      tx,
      `SELECT document FROM pending_request WHERE $1::text IS NULL OR request_id = $1 ORDER BY created_at, id`,
      [requestId ?? null],
    );
    return found.map(({ document }) => document);
  }
}

/** A retried run has its id too: of two runs that fail at once, both are tried again. */
function entryKey({ pendingType, timestamp, runId }: PendingRequest): string {
  const isRun =
    pendingType === 'ONEOFF' || pendingType === 'IMMEDIATE' || (pendingType === 'RETRY' && runId !== undefined);
  return isRun ? `${timestamp}/${runId ?? ''}` : '';
}
