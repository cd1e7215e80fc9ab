import { Injectable } from '@nestjs/common';
import type { TimeRange } from '../../core/authorization/index.js';
import type { RequestTimes } from '../../core/logs/index.js';
import type { RequestEventType } from '../../core/model/enums.js';
import type { KeptRuns, Request, RequestHistory } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, timeTests } from '../../platform/database/sql.js';
import { OutboxRepository } from '../events/outbox.repository.js';

/** A change of a request. Of one whose record cannot be read there is no request. */
export type RequestChange = Omit<RequestHistory, 'request'> & { request?: Request };

/** Group and lifetime of a request, live or gone. */
export interface RequestLifetime {
  group?: string;
  /** Absent: nothing of it is in the history. */
  times?: RequestTimes;
}

interface EventRow {
  created_at: Date;
  event_type: RequestEventType;
  user_name: string | null;
  message: string | null;
  request: Request | null;
  bytes: Buffer | null;
}

interface LifetimeRow {
  id: string;
  group_name: string | null;
  first_at: Date | null;
  last_at: Date | null;
  last_event: RequestEventType | null;
}

const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

/**
 * Ids that begin with $1 (a pattern of LIKE), each once: from one to the next greater one along the index. DISTINCT would
 * read every change that there ever was of each. The walk ends as soon as the page is full.
 */
const nextId = (after: string): string => `(SELECT request_id FROM request_history
  WHERE request_id LIKE $1 ${after} ORDER BY request_id USING ~<~ LIMIT 1)`;
const idsSql = `WITH RECURSIVE found (request_id) AS (
    ${nextId('')} UNION ALL SELECT ${nextId('AND request_id ~>~ found.request_id')} FROM found WHERE request_id IS NOT NULL)
  SELECT request_id FROM found WHERE request_id IS NOT NULL`;

/** Changes that lie in all of these spans. */
const within = (spans: readonly TimeRange[], parameters: unknown[]): string =>
  spans.map((span) => timeTests('created_at', span, parameters)).join('');

/**
 * The history of requests; the webhooks are notified in the same transaction. By hand: the table has every change there
 * ever was, and each statement follows one of its indexes.
 */
@Injectable()
export class RequestHistoryRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  async record(tx: Transaction, event: RequestHistory): Promise<void> {
    // Two events in one millisecond: the later one is put a millisecond later, so that they are read as they happened.
    const [written] = await rows<{ created_at: Date }>(
      tx,
      `INSERT INTO request_history (request_id, created_at, event_type, user_name, message, request)
       SELECT $1, greatest($2::timestamptz, (SELECT max(created_at) + interval '1 millisecond' FROM request_history
           WHERE request_id = $1 AND created_at >= $2)), $3, $4, $5, $6
       RETURNING created_at`,
      [
        event.request.id,
        new Date(event.createdAt),
        event.eventType,
        event.user ?? null,
        event.message ?? null,
        JSON.stringify(event.request),
      ],
    );
    await this.outbox.request(tx, { ...event, createdAt: written!.created_at.getTime() });
  }

  /** Requests that say how much of the history of their tasks is kept. */
  keptRuns(tx: Queryable): Promise<{ id: string; keepRuns: KeptRuns }[]> {
    return rows(
      tx,
      `SELECT id, document->'keepRuns' AS "keepRuns" FROM request WHERE document ? 'keepRuns' ORDER BY id`,
    );
  }

  /**
   * Events of another installation, as they were there; webhooks heard of them then. Answers how many were not here yet:
   * some stores keep only the second of an event, so one of the same kind and second is the same one.
   */
  async takeOver(tx: Transaction, events: readonly RequestHistory[]): Promise<number> {
    const written = await rows(
      tx,
      `INSERT INTO request_history (request_id, created_at, event_type, user_name, message, request)
       SELECT n.request_id, n.created_at, n.event_type, n.user_name, n.message, n.request
       FROM jsonb_populate_recordset(NULL::request_history, $1::jsonb) n WHERE NOT EXISTS (
         SELECT 1 FROM request_history h WHERE h.request_id = n.request_id AND h.event_type = n.event_type
           AND h.created_at >= date_trunc('second', n.created_at)
           AND h.created_at < date_trunc('second', n.created_at) + interval '1 second'
           AND date_trunc('second', n.created_at) IN (n.created_at, h.created_at))
       ON CONFLICT DO NOTHING RETURNING 1`,
      [
        JSON.stringify(
          events.map(({ request, createdAt, eventType, user, message }) => ({
            request_id: request.id,
            created_at: new Date(createdAt),
            event_type: eventType,
            user_name: user,
            message,
            request,
          })),
        ),
      ],
    );
    return written.length;
  }

  /** Time of the newest event of each of these requests, in epoch milliseconds. */
  async lastEventTimes(tx: Transaction, requestIds: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ request_id: string; at: Date }>(
      tx,
      'SELECT request_id, max(created_at) AS at FROM request_history WHERE request_id = ANY ($1) GROUP BY 1',
      [requestIds],
    );
    return new Map(found.map((row) => [row.request_id, row.at.getTime()]));
  }

  /** The user who caused the newest event of each of these requests, where that is known. */
  async lastEventUsers(tx: Transaction, requestIds: readonly string[]): Promise<Map<string, string>> {
    const found = await rows<{ request_id: string; user_name: string | null }>(
      tx,
      `SELECT DISTINCT ON (request_id) request_id, user_name FROM request_history WHERE request_id = ANY ($1)
       ORDER BY request_id, created_at DESC`,
      [requestIds],
    );
    return new Map(found.flatMap((row) => (row.user_name === null ? [] : [[row.request_id, row.user_name]])));
  }

  /**
   * Events within all these spans, newest first unless asked otherwise. bytes: the record as an older installation
   * wrote it, where it has not been converted.
   */
  async list(
    tx: Queryable,
    requestId: string,
    { count, offset }: { count: number; offset: number },
    spans: readonly TimeRange[] = [],
    direction: 'ASC' | 'DESC' = 'DESC',
  ): Promise<{ change: RequestChange; bytes: Buffer | null }[]> {
    const parameters: unknown[] = [requestId, count, offset];
    const found = await rows<EventRow>(
      tx,
      `SELECT created_at, event_type, user_name, message, request, CASE WHEN request IS NULL THEN bytes END AS bytes
       FROM request_history WHERE request_id = $1${within(spans, parameters)}
       ORDER BY created_at ${direction}, event_type LIMIT $2 OFFSET $3`,
      parameters,
    );
    return found.map((row) => ({
      change: {
        createdAt: row.created_at.getTime(),
        user: row.user_name ?? undefined,
        eventType: row.event_type,
        request: row.request ?? undefined,
        message: row.message ?? undefined,
      },
      bytes: row.bytes,
    }));
  }

  async count(tx: Transaction, requestId: string, spans: readonly TimeRange[] = []): Promise<number> {
    const parameters: unknown[] = [requestId];
    const [counted] = await rows<{ count: string }>(
      tx,
      `SELECT count(*) FROM request_history WHERE request_id = $1${within(spans, parameters)}`,
      parameters,
    );
    return Number(counted!.count);
  }

  /** Ids of all requests there ever were that begin so, in the order of their characters. */
  async idsThatBegin(
    tx: Queryable,
    prefix: string,
    { count, offset }: { count: number; offset: number },
  ): Promise<string[]> {
    const found = await rows<{ request_id: string }>(tx, `${idsSql} LIMIT $2 OFFSET $3`, [
      `${escapeLike(prefix)}%`,
      count,
      offset,
    ]);
    return found.map((row) => row.request_id);
  }

  /** Live or gone; one without any trace has neither group nor times. */
  async lifetimes(tx: Transaction, ids: readonly string[]): Promise<Map<string, RequestLifetime>> {
    const found = await rows<LifetimeRow>(
      tx,
      `SELECT wanted.id, CASE WHEN r.id IS NULL THEN newest.request ->> 'group' ELSE r.document ->> 'group' END AS group_name,
         oldest.at AS first_at, newest.created_at AS last_at, newest.event_type AS last_event
       FROM unnest($1::text[]) AS wanted (id) LEFT JOIN request r USING (id)
         LEFT JOIN LATERAL (SELECT created_at, event_type, request FROM request_history
           WHERE request_id = wanted.id ORDER BY created_at DESC LIMIT 1) newest ON true
         LEFT JOIN LATERAL (SELECT min(created_at) AS at FROM request_history WHERE request_id = wanted.id) oldest ON true`,
      [ids],
    );
    return new Map(
      found.map((row) => {
        const times =
          row.first_at && row.last_at && row.last_event
            ? { firstAt: row.first_at.getTime(), lastAt: row.last_at.getTime(), lastEvent: row.last_event }
            : undefined;
        return [row.id, { group: row.group_name ?? undefined, times }];
      }),
    );
  }

  /** Removes at most so many events that are older. Answers how many went. */
  async purge(tx: Transaction, before: Date, most: number): Promise<number> {
    const gone = await rows(
      tx,
      `DELETE FROM request_history WHERE ctid = ANY (ARRAY(SELECT ctid FROM request_history WHERE created_at < $1 LIMIT $2))
       RETURNING 1`,
      [before, most],
    );
    return gone.length;
  }
}
