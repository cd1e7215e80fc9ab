import { Injectable } from '@nestjs/common';
import { backfillRunId, type BackfillTimeState, type TakenTime } from '../../../core/requests/backfill.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows, toMillis } from '../../../platform/database/sql.js';

/** A backfill with the numbers of its times by state. */
export interface RunBackfill {
  id: string;
  requestId: string;
  from: number;
  to: number;
  concurrency: number;
  newestFirst: boolean;
  forced: boolean;
  /** Planned times that had a run already. */
  skipped: number;
  user?: string;
  message?: string;
  createdAt: number;
  canceledAt?: number;
  endedAt?: number;
  counts: Partial<Record<BackfillTimeState, number>>;
}

export interface RunBackfillTime {
  scheduledAt: number;
  runId: string;
  state: BackfillTimeState;
  taskId?: string;
}

/** The end of the last try of a run that a backfill has made. */
export interface EndedBackfillRun {
  requestId: string;
  runId: string;
  /** Planned time of the run, in epoch milliseconds. */
  scheduledAt: number;
  taskId: string;
  succeeded: boolean;
}

interface BackfillRow {
  id: string;
  request_id: string;
  from_at: Date;
  to_at: Date;
  concurrency: number;
  newest_first: boolean;
  forced: boolean;
  skipped: number;
  user_name: string | null;
  message: string | null;
  created_at: Date;
  canceled_at: Date | null;
  ended_at: Date | null;
  counts: RunBackfill['counts'] | null;
}

const openStates: readonly BackfillTimeState[] = ['WAITING', 'QUEUED'];

/** SQL: planned time of a run in epoch milliseconds, by the document of its pending task; older ones have it in their id alone. */
const plannedAtSql = (pending: string): string =>
  `coalesce(${pending}->>'scheduledAt', ${pending}->'pendingTaskId'->>'nextRunAt')::bigint`;

/**
 * Backfills and their times, all changed under the lock on the row of their request. By hand: a thousand times are written, taken and
 * counted in one statement.
 */
@Injectable()
export class RunBackfillRepository {
  async create(tx: Transaction, backfill: Omit<RunBackfill, 'counts'>, times: readonly number[]): Promise<void> {
    const { id, requestId, from, to, concurrency, newestFirst, forced, skipped, user, message, createdAt } = backfill;
    await tx.query(
      `INSERT INTO run_backfill (id, request_id, from_at, to_at, concurrency, newest_first, forced, skipped, user_name, message, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        id,
        requestId,
        new Date(from),
        new Date(to),
        concurrency,
        newestFirst,
        forced,
        skipped,
        user ?? null,
        message ?? null,
        new Date(createdAt),
      ],
    );
    await tx.query(
      `INSERT INTO run_backfill_time (backfill_id, scheduled_at, request_id, run_id, state)
       SELECT $1, t.at, $2, t.run_id, 'WAITING' FROM unnest($3::timestamptz[], $4::text[]) AS t (at, run_id)`,
      [id, requestId, times.map((at) => new Date(at)), times.map((at) => backfillRunId(id, at))],
    );
  }

  /** The times among these that have a run, by the schedule or by a backfill. */
  async timesWithRuns(tx: Transaction, requestId: string, times: readonly number[]): Promise<Set<number>> {
    const found = await rows<{ at: number }>(
      tx,
      `SELECT at FROM (
         SELECT (extract(epoch FROM scheduled_at) * 1000)::bigint AS at FROM run_backfill_time
           WHERE request_id = $1 AND state <> 'CANCELED' AND scheduled_at BETWEEN $3 AND $4
         UNION ALL SELECT ${plannedAtSql(`data->'task'->'taskRequest'->'pendingTask'`)} FROM task_history
           WHERE request_id = $1 AND started_at >= $3
         UNION ALL SELECT ${plannedAtSql(`l.document->'pendingTask'`)} FROM task t JOIN task_launch l USING (task_id)
           WHERE t.request_id = $1
         UNION ALL SELECT ${plannedAtSql('document')} FROM pending_task WHERE request_id = $1 AND NOT delete_requested) runs
       WHERE at = ANY ($2::bigint[])`,
      [requestId, times, new Date(times[0]!), new Date(times.at(-1)!)],
    );
    return new Set(found.map(({ at }) => Number(at)));
  }

  /** Newest first, at most so many; or the one of this id. */
  async find(
    tx: Queryable,
    requestId: string,
    { id, most = 1 }: { id?: string; most?: number },
  ): Promise<RunBackfill[]> {
    const found = await rows<BackfillRow>(
      tx,
      `SELECT b.*, (SELECT jsonb_object_agg(state, count) FROM (
           SELECT state, count(*) AS count FROM run_backfill_time WHERE backfill_id = b.id GROUP BY state) c) AS counts
       FROM run_backfill b WHERE request_id = $1 AND ($2::text IS NULL OR id = $2) ORDER BY created_at DESC, id LIMIT $3`,
      [requestId, id ?? null, most],
    );
    return found.map(fromRow);
  }

  /** Number of those of a request that are not over. */
  async openCount(tx: Queryable, requestId: string): Promise<number> {
    const [found] = await rows<{ count: number }>(
      tx,
      'SELECT count(*)::int AS count FROM run_backfill WHERE request_id = $1 AND ended_at IS NULL',
      [requestId],
    );
    return found!.count;
  }

  /** In the order of the times. */
  async times(tx: Queryable, backfillId: string): Promise<RunBackfillTime[]> {
    const found = await rows<{ scheduled_at: Date; run_id: string; state: BackfillTimeState; task_id: string | null }>(
      tx,
      'SELECT scheduled_at, run_id, state, task_id FROM run_backfill_time WHERE backfill_id = $1 ORDER BY scheduled_at',
      [backfillId],
    );
    return found.map((row) => ({
      scheduledAt: row.scheduled_at.getTime(),
      runId: row.run_id,
      state: row.state,
      taskId: row.task_id ?? undefined,
    }));
  }

  /** Requests with a backfill that is not over. */
  async openRequestIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ request_id: string }>(
      tx,
      'SELECT DISTINCT request_id FROM run_backfill WHERE ended_at IS NULL ORDER BY request_id',
    );
    return found.map((row) => row.request_id);
  }

  /** Gives their turn to as many times of a request as its backfills let run at once; answers them in that order. */
  async take(tx: Transaction, requestId: string): Promise<TakenTime[]> {
    const found = await rows<{
      backfill_id: string;
      scheduled_at: Date;
      user_name: string | null;
      message: string | null;
      place: number;
    }>(
      tx,
      `WITH waiting AS (
         SELECT t.backfill_id, t.scheduled_at, b.user_name, b.message, b.concurrency,
           row_number() OVER (PARTITION BY b.id
             ORDER BY extract(epoch FROM t.scheduled_at) * CASE WHEN b.newest_first THEN -1 ELSE 1 END) AS place,
           (SELECT count(*) FROM run_backfill_time q WHERE q.backfill_id = b.id AND q.state = 'QUEUED') AS queued
         FROM run_backfill b JOIN run_backfill_time t ON t.backfill_id = b.id AND t.state = 'WAITING'
         WHERE b.request_id = $1 AND b.ended_at IS NULL)
       UPDATE run_backfill_time t SET state = 'QUEUED' FROM waiting w
       WHERE t.backfill_id = w.backfill_id AND t.scheduled_at = w.scheduled_at AND w.place + w.queued <= w.concurrency
       RETURNING t.backfill_id, t.scheduled_at, w.user_name, w.message, w.place::int`,
      [requestId],
    );
    return found
      .toSorted((a, b) => a.place - b.place || (a.backfill_id < b.backfill_id ? -1 : 1))
      .map((row) => ({
        backfillId: row.backfill_id,
        scheduledAt: row.scheduled_at.getTime(),
        user: row.user_name ?? undefined,
        message: row.message ?? undefined,
      }));
  }

  /** A run that was given up with its machine, and failed with it, may have succeeded after all. */
  async endRuns(tx: Transaction, ended: readonly EndedBackfillRun[], now: number): Promise<void> {
    if (ended.length === 0) return;
    const touched = await rows<{ backfill_id: string }>(
      tx,
      `UPDATE run_backfill_time t SET state = e.state, task_id = e.task_id
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[]) AS e (request_id, run_id, state, task_id, at)
       WHERE t.request_id = e.request_id AND t.scheduled_at = e.at AND t.run_id = e.run_id AND t.state IN ('QUEUED', 'FAILED') RETURNING t.backfill_id`,
      [
        ended.map(({ requestId }) => requestId),
        ended.map(({ runId }) => runId),
        ended.map(({ succeeded }) => (succeeded ? 'SUCCEEDED' : 'FAILED')),
        ended.map(({ taskId }) => taskId),
        ended.map(({ scheduledAt }) => new Date(scheduledAt)),
      ],
    );
    await this.endThose(
      tx,
      touched.map((row) => row.backfill_id),
      now,
    );
  }

  /**
   * Runs that were dropped with a pause, or by hand, before they began: their times wait again, unless their backfill was canceled. Answers
   * the states of these times.
   */
  async releaseDropped(tx: Transaction, requestId: string, now: number): Promise<BackfillTimeState[]> {
    const released = await rows<{ backfill_id: string; state: BackfillTimeState }>(
      tx,
      `UPDATE run_backfill_time t SET state = CASE WHEN b.canceled_at IS NULL THEN 'WAITING' ELSE 'CANCELED' END
       FROM run_backfill b WHERE b.request_id = $1 AND b.ended_at IS NULL AND t.backfill_id = b.id AND t.state = 'QUEUED'
         AND NOT EXISTS (SELECT 1 FROM pending_request p WHERE p.request_id = $1 AND p.run_id = t.run_id)
         AND NOT EXISTS (SELECT 1 FROM pending_task p WHERE p.request_id = $1 AND p.run_id = t.run_id AND NOT p.delete_requested)
         AND NOT EXISTS (SELECT 1 FROM task k WHERE k.request_id = $1 AND k.run_id = t.run_id)
       RETURNING t.backfill_id, t.state`,
      [requestId],
    );
    await this.endThose(
      tx,
      released.map((row) => row.backfill_id),
      now,
    );
    return released.map(({ state }) => state);
  }

  /** Times that wait are not run any more; one that is over stays as it is. Answers how many those are, and the ids of the runs that may have begun. */
  async cancel(tx: Transaction, id: string, now: number): Promise<{ canceled: number; runIds: string[] }> {
    const canceled = await rows(
      tx,
      `UPDATE run_backfill_time SET state = 'CANCELED' WHERE backfill_id = $1 AND state = 'WAITING' RETURNING scheduled_at`,
      [id],
    );
    await tx.query(
      'UPDATE run_backfill SET canceled_at = $2 WHERE id = $1 AND canceled_at IS NULL AND ended_at IS NULL',
      [id, new Date(now)],
    );
    const queued = await rows<{ run_id: string }>(
      tx,
      `SELECT run_id FROM run_backfill_time WHERE backfill_id = $1 AND state = 'QUEUED'`,
      [id],
    );
    return { canceled: canceled.length, runIds: queued.map((row) => row.run_id) };
  }

  /** Runs of a canceled backfill that never began. */
  async cancelRuns(tx: Transaction, id: string, runIds: readonly string[], now: number): Promise<void> {
    await tx.query(`UPDATE run_backfill_time SET state = 'CANCELED' WHERE backfill_id = $1 AND run_id = ANY ($2)`, [
      id,
      runIds,
    ]);
    await this.endThose(tx, [id], now);
  }

  /** Removes backfills that are over, but for the newest so many. */
  async removeOld(tx: Transaction, requestId: string, most: number): Promise<void> {
    await tx.query(
      `WITH gone AS (DELETE FROM run_backfill WHERE id IN (
         SELECT id FROM run_backfill WHERE request_id = $1 AND ended_at IS NOT NULL ORDER BY created_at DESC, id OFFSET $2)
         RETURNING id)
       DELETE FROM run_backfill_time WHERE backfill_id IN (SELECT id FROM gone)`,
      [requestId, most],
    );
  }

  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('DELETE FROM run_backfill_time WHERE request_id = $1', [requestId]);
    await tx.query('DELETE FROM run_backfill WHERE request_id = $1', [requestId]);
  }

  private async endThose(tx: Transaction, ids: readonly string[], now: number): Promise<void> {
    await tx.query(
      `UPDATE run_backfill b SET ended_at = $2 WHERE id = ANY ($1) AND ended_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM run_backfill_time t WHERE t.backfill_id = b.id AND t.state = ANY ($3))`,
      [ids, new Date(now), openStates],
    );
  }
}

const fromRow = (row: BackfillRow): RunBackfill => ({
  id: row.id,
  requestId: row.request_id,
  from: row.from_at.getTime(),
  to: row.to_at.getTime(),
  concurrency: row.concurrency,
  newestFirst: row.newest_first,
  forced: row.forced,
  skipped: row.skipped,
  user: row.user_name ?? undefined,
  message: row.message ?? undefined,
  createdAt: row.created_at.getTime(),
  canceledAt: toMillis(row.canceled_at),
  endedAt: toMillis(row.ended_at),
  counts: row.counts ?? {},
});
