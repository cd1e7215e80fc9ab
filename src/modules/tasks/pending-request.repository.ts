import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type PendingType, promisedTypes } from '../../core/model/enums.js';
import type { PendingRequest, RunKey } from '../../core/model/task.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

export interface QueueEntry {
  /** Id of its row. */
  id: number;
  entry: PendingRequest;
}

export type EnqueueResult = 'CREATED' | 'EXISTED';

/**
 * The queue of pending requests: wishes that a request's tasks be looked at, drained by the scheduler. Any instance may
 * add to it, inside the transaction of the change that makes it necessary; wake 'scheduler' after the commit.
 * By hand: the drain takes hundreds of entries in one statement, and which entry wins is decided by the conflict clause.
 */
@Injectable()
export class PendingRequestRepository {
  /**
   * At most one entry waits per request and deploy; ONEOFF and IMMEDIATE count apart by time and run id, and each RETRY by itself:
   * it comes with the end of a task, which is settled once, and runs that share an id may end at one moment. An entry that
   * exists stays and the newcomer is dropped (EXISTED), unless the one that waits is STARTUP: that one is replaced. The end of a pause
   * replaces the end of a run and of a former pause: its time says which times fell into the pause, where no leader saw it.
   */
  async enqueue(tx: Queryable, entry: PendingRequest): Promise<EnqueueResult> {
    return (await this.enqueueAll(tx, [entry])).has(entry) ? 'CREATED' : 'EXISTED';
  }

  /** Enqueues many at once, in the order given: of those with one key the first counts. Returns those that are new. */
  async enqueueAll(tx: Queryable, entries: readonly PendingRequest[]): Promise<ReadonlySet<PendingRequest>> {
    const firsts = firstOfEachKey(entries);
    if (firsts.size === 0) return new Set();
    const first = [...firsts.values()];
    const column = <T>(pick: (entry: PendingRequest) => T): T[] => first.map(({ entry }) => pick(entry));
    const stored = await rows<{ request_id: string; deploy_id: string; entry_key: string }>(
      tx,
      `INSERT INTO pending_request AS waiting
         (request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document, bytes)
       SELECT request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document,
         octet_length(document::text)
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::jsonb[])
         WITH ORDINALITY AS e (request_id, deploy_id, entry_key, pending_type, created_at, run_id, action_id, document, position)
       ORDER BY position
       ON CONFLICT (request_id, deploy_id, entry_key) DO UPDATE SET
         pending_type = excluded.pending_type, created_at = excluded.created_at, run_id = excluded.run_id,
         action_id = excluded.action_id, document = excluded.document, bytes = excluded.bytes
       WHERE (waiting.pending_type = 'STARTUP' AND excluded.pending_type <> 'STARTUP')
         OR (waiting.pending_type IN ('TASK_DONE', 'UNPAUSED') AND excluded.pending_type = 'UNPAUSED')
       RETURNING request_id, deploy_id, entry_key`,
      [
        column((entry) => entry.requestId),
        column((entry) => entry.deployId),
        first.map(({ key }) => key),
        column((entry) => entry.pendingType),
        column((entry) => new Date(entry.timestamp)),
        column((entry) => entry.runId ?? null),
        column((entry) => entry.actionId ?? null),
        column((entry) => JSON.stringify(entry)),
      ],
    );
    return new Set(stored.map((row) => firsts.get(keyText(row.request_id, row.deploy_id, row.entry_key))!.entry));
  }

  /**
   * For a new leader, in case something was missed between two leaders: a STARTUP entry per runnable request that goes on
   * by itself; a job whose next run is planned needs none, if it was planned after the request changed last and is not one of
   * those that are `misplanned`. Nor does a
   * request that a deploy is to wake from its pause: its active deploy still rests, and the new one looks after its own
   * tasks. What waits in the queue already stays as it is. The locks on the requests are taken when the queue is drained:
   * an entry is only a wish to look.
   */
  async enqueueStartups(tx: Transaction, now: number, misplanned: readonly string[]): Promise<void> {
    await tx.query(
      `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
       SELECT r.id, r.active_deploy_id, 'STARTUP', $1, jsonb_build_object('requestId', r.id,
         'deployId', r.active_deploy_id, 'pendingType', 'STARTUP', 'timestamp', $2::bigint)
       FROM request r
       WHERE r.state IN ('ACTIVE', 'SYSTEM_COOLDOWN') AND r.active_deploy_id IS NOT NULL
         AND r.request_type NOT IN ('ON_DEMAND', 'RUN_ONCE')
         AND NOT (r.request_type = 'SCHEDULED' AND EXISTS (SELECT 1 FROM pending_task p
           WHERE p.request_id = r.id AND p.deploy_id = r.active_deploy_id AND p.created_at >= r.changed_at
             AND p.pending_type <> 'BACKFILL' AND NOT p.delete_requested AND p.id <> ALL ($3)))
       ORDER BY r.id
       ON CONFLICT (request_id, deploy_id, entry_key) DO NOTHING`,
      [new Date(now), now, misplanned],
    );
  }

  /** Requests with waiting entries, the longest waiting first. */
  async waitingRequestIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ request_id: string }>(
      tx,
      'SELECT request_id FROM pending_request GROUP BY request_id ORDER BY min(created_at), min(id)',
    );
    return found.map((row) => row.request_id);
  }

  /** Oldest first. Locked, so that no caller replaces an entry between its reading and its removal. */
  async lockOf(tx: Transaction, requestIds: readonly string[]): Promise<QueueEntry[]> {
    const found = await rows<{ id: number; document: PendingRequest }>(
      tx,
      `SELECT id, document FROM pending_request WHERE request_id = ANY ($1) ORDER BY created_at, id FOR UPDATE`,
      [requestIds],
    );
    return found.map((row) => ({ id: row.id, entry: row.document }));
  }

  /** By the ids of their rows. */
  async remove(tx: Transaction, ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await tx.query('DELETE FROM pending_request WHERE id = ANY ($1)', [ids]);
  }

  /** Entries of these types that wait for another deploy of the request wait for this one. */
  async moveToDeploy(
    tx: Transaction,
    requestId: string,
    deployId: string,
    types: readonly PendingType[],
  ): Promise<void> {
    await tx.query(
      `UPDATE pending_request SET deploy_id = $2, document = jsonb_set(document, '{deployId}', to_jsonb($2::text))
       WHERE request_id = $1 AND deploy_id <> $2 AND pending_type = ANY ($3)`,
      [requestId, deployId, types],
    );
  }

  /** Pending requests, oldest first: of one request, or all. */
  async list(tx: Queryable, requestId?: string): Promise<PendingRequest[]> {
    const found = await rows<{ document: PendingRequest }>(
      tx,
      `SELECT document FROM pending_request WHERE $1::text IS NULL OR request_id = $1 ORDER BY created_at, id`,
      [requestId ?? null],
    );
    return found.map(({ document }) => document);
  }

  /** Counts the runs of each of these requests that were asked for and wait, here and as pending tasks. */
  async runsOf(tx: Queryable, requestIds: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ id: string; count: number }>(
      tx,
      `SELECT r.id, ((SELECT count(*) FROM pending_request WHERE request_id = r.id AND pending_type = ANY ($2))
         + (SELECT count(*) FROM pending_task
            WHERE request_id = r.id AND pending_type = ANY ($2) AND NOT delete_requested))::int AS count
       FROM unnest($1::text[]) AS r (id)`,
      [requestIds, promisedTypes],
    );
    return new Map(found.map(({ id, count }) => [id, count]));
  }

  async hasRun(tx: Transaction, { requestId, runId, askedAt }: RunKey): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM pending_request WHERE request_id = $1 AND run_id = $2
         AND ($3::bigint IS NULL OR (document->>'askedAt')::bigint = $3) LIMIT 1`,
      [requestId, runId, askedAt ?? null],
    );
    return found.length > 0;
  }

  /** The wishes that a bounce asked for under this id has left. */
  async removeBounce(tx: Transaction, requestId: string, actionId: string): Promise<void> {
    await tx.query(`DELETE FROM pending_request WHERE request_id = $1 AND action_id = $2 AND pending_type = 'BOUNCE'`, [
      requestId,
      actionId,
    ]);
  }

  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('DELETE FROM pending_request WHERE request_id = $1', [requestId]);
  }
}

/** One statement cannot decide about a row twice, so what `enqueue` one by one would come to is worked out before. */
function firstOfEachKey(entries: readonly PendingRequest[]): Map<string, { entry: PendingRequest; key: string }> {
  const first = new Map<string, { entry: PendingRequest; key: string }>();
  for (const entry of entries) {
    const key = entryKey(entry);
    const text = keyText(entry.requestId, entry.deployId, key);
    const waiting = first.get(text)?.entry;
    if (!waiting || (waiting.pendingType === 'STARTUP' && entry.pendingType !== 'STARTUP'))
      first.set(text, { entry, key });
  }
  return first;
}

const keyText = (...key: [requestId: string, deployId: string, entryKey: string]): string => JSON.stringify(key);

/** A promised run is never the same as another wish: neither of two runs that fail at once, nor a new deploy that waits for it. */
function entryKey({ pendingType, timestamp, runId }: PendingRequest): string {
  if (pendingType === 'RETRY') return randomUUID();
  return promisedTypes.includes(pendingType) ? `${timestamp}/${runId ?? ''}` : '';
}
