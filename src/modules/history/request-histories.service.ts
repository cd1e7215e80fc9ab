import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestEventType } from '../../core/model/enums.js';
import type { Request, RequestHistory } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';

interface EventRow {
  created_at: Date;
  event_type: RequestEventType;
  user_name: string | null;
  message: string | null;
  request: Request;
}

const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

/** What happened to requests, those that are gone included. */
@Injectable()
export class RequestHistories {
  constructor(private readonly db: Database) {}

  /** Newest first. */
  list(requestId: string, choice: PageChoice): Promise<RequestHistory[]> {
    return this.read(this.db.manager, requestId, choice);
  }

  page(requestId: string, choice: PageChoice): Promise<Page<RequestHistory>> {
    return this.db.snapshot(async (tx) => {
      const [counted] = await rows<{ count: string }>(
        tx,
        'SELECT count(*) FROM request_history WHERE request_id = $1 AND request IS NOT NULL',
        [requestId],
      );
      return toPage(choice, Number(counted!.count), await this.read(tx, requestId, choice));
    });
  }

  /** Ids of all requests there ever were that begin so, in their order. */
  async search(prefix: string, choice: PageChoice): Promise<string[]> {
    const { count, offset } = pageBounds(choice);
    const found = await rows<{ request_id: string }>(
      this.db.manager,
      `SELECT DISTINCT request_id FROM request_history WHERE request_id LIKE $1 ORDER BY request_id LIMIT $2 OFFSET $3`,
      [`${escapeLike(prefix)}%`, count, offset],
    );
    return found.map((row) => row.request_id);
  }

  private async read(tx: EntityManager, requestId: string, choice: PageChoice): Promise<RequestHistory[]> {
    const { count, offset } = pageBounds(choice);
    const found = await rows<EventRow>(
      tx,
      `SELECT created_at, event_type, user_name, message, request FROM request_history
       WHERE request_id = $1 AND request IS NOT NULL ORDER BY created_at DESC, event_type LIMIT $2 OFFSET $3`,
      [requestId, count, offset],
    );
    return found.map((row) => ({
      createdAt: row.created_at.getTime(),
      user: row.user_name ?? undefined,
      eventType: row.event_type,
      request: row.request,
      message: row.message ?? undefined,
    }));
  }
}
