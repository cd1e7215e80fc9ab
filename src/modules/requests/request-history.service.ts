import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestHistory } from '../../core/model/request.js';
import { rows } from '../../platform/database/sql.js';
import { WebhookOutbox } from '../webhooks/webhook-outbox.service.js';

/** Records what happened to requests, and tells the webhooks of it in the same transaction. */
@Injectable()
export class RequestHistoryService {
  constructor(private readonly outbox: WebhookOutbox) {}

  async record(tx: EntityManager, event: RequestHistory): Promise<void> {
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

  /** Time of the newest event of each of these requests, in epoch milliseconds. */
  async lastEventTimes(tx: EntityManager, requestIds: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ request_id: string; at: Date }>(
      tx,
      'SELECT request_id, max(created_at) AS at FROM request_history WHERE request_id = ANY ($1) GROUP BY 1',
      [requestIds],
    );
    return new Map(found.map((row) => [row.request_id, row.at.getTime()]));
  }

  /** Who caused the newest event of each of these requests, where that is known. */
  async lastEventUsers(tx: EntityManager, requestIds: readonly string[]): Promise<Map<string, string>> {
    const found = await rows<{ request_id: string; user_name: string | null }>(
      tx,
      `SELECT DISTINCT ON (request_id) request_id, user_name FROM request_history WHERE request_id = ANY ($1)
       ORDER BY request_id, created_at DESC`,
      [requestIds],
    );
    return new Map(found.flatMap((row) => (row.user_name === null ? [] : [[row.request_id, row.user_name]])));
  }
}
