import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestEventType } from '../../core/model/enums.js';
import type { Request, RequestHistory } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { OldPayloads } from './old-payloads.service.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';

interface EventRow {
  created_at: Date;
  event_type: RequestEventType;
  user_name: string | null;
  message: string | null;
  request: Request | null;
  bytes: Buffer | null;
}

/** A change as it is shown. Of one whose record cannot be read there is no request. */
export type RequestChange = Omit<RequestHistory, 'request'> & { request?: Request };

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

/** What happened to requests, those that are gone included. */
@Injectable()
export class RequestHistories {
  constructor(
    private readonly db: Database,
    private readonly old: OldPayloads,
  ) {}

  /** Newest first. */
  list(requestId: string, choice: PageChoice): Promise<RequestChange[]> {
    return this.read(this.db.manager, requestId, choice);
  }

  page(requestId: string, choice: PageChoice): Promise<Page<RequestChange>> {
    return this.db.snapshot(async (tx) => {
      const [counted] = await rows<{ count: string }>(
        tx,
        'SELECT count(*) FROM request_history WHERE request_id = $1',
        [requestId],
      );
      return toPage(choice, Number(counted!.count), await this.read(tx, requestId, choice));
    });
  }

  /** Ids of all requests there ever were that begin so, in the order of their characters. */
  async search(prefix: string, choice: PageChoice): Promise<string[]> {
    const { count, offset } = pageBounds(choice);
    const found = await rows<{ request_id: string }>(this.db.manager, `${idsSql} LIMIT $2 OFFSET $3`, [
      `${escapeLike(prefix)}%`,
      count,
      offset,
    ]);
    return found.map((row) => row.request_id);
  }

  private async read(tx: EntityManager, requestId: string, choice: PageChoice): Promise<RequestChange[]> {
    const { count, offset } = pageBounds(choice);
    const found = await rows<EventRow>(
      tx,
      `SELECT created_at, event_type, user_name, message, request, CASE WHEN request IS NULL THEN bytes END AS bytes
       FROM request_history WHERE request_id = $1 ORDER BY created_at DESC, event_type LIMIT $2 OFFSET $3`,
      [requestId, count, offset],
    );
    return found.map((row) => ({
      createdAt: row.created_at.getTime(),
      user: row.user_name ?? undefined,
      eventType: row.event_type,
      request: row.request ?? this.old.document<Request>('REQUEST', row.bytes),
      message: row.message ?? undefined,
    }));
  }
}
