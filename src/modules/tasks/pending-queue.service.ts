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
    return (await this.enqueueAll(tx, [entry])) > 0 ? 'CREATED' : 'EXISTED';
  }

  /** The same for many at once, in the order given: of those with one key the first counts. Answers how many are new. */
  async enqueueAll(tx: EntityManager, entries: readonly PendingRequest[]): Promise<number> {
    const first = firstOfEachKey(entries);
    if (first.length === 0) return 0;
    const column = <T>(pick: (entry: PendingRequest) => T): T[] => first.map(pick);
    const stored = await rows(
      tx,
      `INSERT INTO pending_request AS waiting
         (request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document)
       SELECT request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::jsonb[])
         WITH ORDINALITY AS e (request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document, position)
       ORDER BY position
       ON CONFLICT (request_id, deploy_id, entry_key) DO UPDATE SET
         pending_type = excluded.pending_type, created_at = excluded.created_at, run_id = excluded.run_id,
         action_id = excluded.action_id, document = excluded.document
       WHERE waiting.pending_type = 'STARTUP' AND excluded.pending_type <> 'STARTUP'
       RETURNING id`,
      [
        column((entry) => entry.requestId),
        column((entry) => entry.deployId),
        column(entryKey),
        column((entry) => entry.pendingType),
        column((entry) => new Date(entry.timestamp)),
        column((entry) => entry.runId ?? null),
        column((entry) => entry.actionId ?? null),
        column((entry) => JSON.stringify(entry)),
      ],
    );
    return stored.length;
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

/** One statement cannot decide about a row twice, so what `enqueue` one by one would come to is worked out before. */
function firstOfEachKey(entries: readonly PendingRequest[]): PendingRequest[] {
  const first = new Map<string, PendingRequest>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.requestId, entry.deployId, entryKey(entry)]);
    const waiting = first.get(key);
    if (!waiting || (waiting.pendingType === 'STARTUP' && entry.pendingType !== 'STARTUP')) first.set(key, entry);
  }
  return [...first.values()];
}

/** A retried run has its id too: of two runs that fail at once, both are tried again. */
function entryKey({ pendingType, timestamp, runId }: PendingRequest): string {
  const isRun =
    pendingType === 'ONEOFF' || pendingType === 'IMMEDIATE' || (pendingType === 'RETRY' && runId !== undefined);
  return isRun ? `${timestamp}/${runId ?? ''}` : '';
}
