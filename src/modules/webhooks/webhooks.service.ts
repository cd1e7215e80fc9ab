import { Injectable } from '@nestjs/common';
import type { WebhookType } from '../../core/model/enums.js';
import type { Webhook, WebhookSummary } from '../../core/model/webhook.js';
import { makeWebhookId, webhookIdCandidates } from '../../core/webhooks/webhook-id.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';

export interface NewWebhook {
  uri: string;
  type: WebhookType;
  timestamp?: number;
  user?: string;
  /** Key for the signatures of its deliveries; never shown again. */
  secret?: string;
}

/** An update that was given up. */
export interface DeadLetter {
  id: number;
  webhookId: string;
  updateKey: string;
  eventAt: number;
  deadAt: number;
  attempts: number;
  lastError?: string;
  body: unknown;
}

interface WebhookRow {
  id: string;
  uri: string;
  webhook_type: WebhookType;
  created_at: Date;
  user_name: string | null;
}

interface DeadLetterRow {
  id: string;
  webhook_id: string;
  update_key: string;
  event_at: Date;
  dead_at: Date;
  attempts: number;
  last_error: string | null;
  body: unknown;
}

/** Who wants to hear of what, and what still waits for them. */
@Injectable()
export class Webhooks {
  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
  ) {}

  async list(): Promise<Webhook[]> {
    return (await this.summary()).map(({ webhook }) => webhook);
  }

  /** Every webhook with the number of updates that wait for it, in the order of ids. */
  async summary(): Promise<WebhookSummary[]> {
    const found = await rows<WebhookRow & { queue_size: number }>(
      this.db.manager,
      `SELECT w.*, (SELECT count(*)::int FROM webhook_update u WHERE u.webhook_id = w.id) AS queue_size
       FROM webhook w ORDER BY w.id`,
    );
    return found.map((row) => ({ webhook: fromRow(row), queueSize: row.queue_size }));
  }

  /** Only one webhook exists per type and uri: registering it again changes nothing. It hears of all that happens from now on. */
  async register(webhook: NewWebhook): Promise<'CREATED' | 'EXISTED'> {
    const { type, uri, timestamp = this.clock.now(), user = null, secret = null } = webhook;
    const written = await this.db.transaction((tx) =>
      rows(
        tx,
        `INSERT INTO webhook (id, uri, webhook_type, created_at, user_name, secret) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO NOTHING RETURNING id`,
        [makeWebhookId(type, uri), uri, type, new Date(timestamp), user, secret],
      ),
    );
    return written.length > 0 ? 'CREATED' : 'EXISTED';
  }

  /** With all that waits for it, and its dead letters. */
  async remove(id: string): Promise<'DELETED' | 'DIDNT_EXIST'> {
    const removed = await this.db.transaction(async (tx) => {
      const gone = await rows<{ id: string }>(tx, 'DELETE FROM webhook WHERE id = ANY ($1) RETURNING id', [
        webhookIdCandidates(id),
      ]);
      await tx.query('DELETE FROM webhook_dead_letter WHERE webhook_id = ANY ($1)', [gone.map((row) => row.id)]);
      return gone;
    });
    return removed.length > 0 ? 'DELETED' : 'DIDNT_EXIST';
  }

  /** Updates of one type that wait for one webhook, or for all of that type; oldest first. */
  async queue<T>(type: WebhookType, id?: string): Promise<T[]> {
    const found = await rows<{ listed: T }>(
      this.db.manager,
      `SELECT u.listed FROM webhook_update u JOIN webhook w ON w.id = u.webhook_id
       WHERE w.webhook_type = $1 AND ($2::text[] IS NULL OR w.id = ANY ($2)) ORDER BY u.id`,
      [type, id === undefined ? null : webhookIdCandidates(id)],
    );
    return found.map((row) => row.listed);
  }

  /** Updates that were given up, newest first. */
  async deadLetters(id: string | undefined, count: number, offset: number): Promise<DeadLetter[]> {
    const found = await rows<DeadLetterRow>(
      this.db.manager,
      `SELECT id, webhook_id, update_key, event_at, dead_at, attempts, last_error, body FROM webhook_dead_letter
       WHERE $1::text[] IS NULL OR webhook_id = ANY ($1) ORDER BY id DESC LIMIT $2 OFFSET $3`,
      [id === undefined ? null : webhookIdCandidates(id), count, offset],
    );
    return found.map((row) => ({
      id: Number(row.id),
      webhookId: row.webhook_id,
      updateKey: row.update_key,
      eventAt: row.event_at.getTime(),
      deadAt: row.dead_at.getTime(),
      attempts: row.attempts,
      lastError: row.last_error ?? undefined,
      body: row.body,
    }));
  }
}

const fromRow = (row: WebhookRow): Webhook => ({
  uri: row.uri,
  timestamp: row.created_at.getTime(),
  user: row.user_name ?? undefined,
  type: row.webhook_type,
  id: row.id,
});
