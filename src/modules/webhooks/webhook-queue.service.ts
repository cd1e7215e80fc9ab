import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { afterFailure, isBroken, type RetryRules } from '../../core/webhooks/delivery.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** What one webhook hears of one request. Its updates go out one after the other, in the order they were queued. */
export interface Lane {
  webhookId: string;
  subjectId: string;
}

/** A lane with the time from which its oldest update may go out. */
export interface WaitingLane extends Lane {
  dueAt: number;
  /** Its webhook failed several times in a row: only one update at a time is tried. */
  broken: boolean;
}

/** The oldest update of a lane, ready to be sent. */
export interface QueuedUpdate extends WaitingLane {
  id: string;
  /** Differs once the row was changed. */
  version: string;
  eventAt: number;
  attempts: number;
  uri: string;
  secret?: string;
  placeholders: Record<string, string>;
  body: unknown;
}

interface UpdateRow {
  id: string;
  version: string;
  webhook_id: string;
  subject_id: string;
  due_at: Date;
  failures_in_row: number;
  event_at: Date;
  attempts: number;
  uri: string;
  secret: string | null;
  placeholders: Record<string, string>;
  body: unknown;
}

const hour = 3_600_000;

/** The rows of the queue, as delivery sees them. Written by the leader only. */
@Injectable()
export class WebhookQueue {
  readonly rules: RetryRules;

  constructor(@Inject(SETTINGS) { webhooks }: Settings) {
    this.rules = {
      firstRetryMillis: webhooks.firstRetryMillis,
      maxRetryMillis: webhooks.lastRetryMillis,
      breakerThreshold: 5,
      giveUpAfterMillis: webhooks.deleteUndeliverableWebhooksAfterHours * hour,
      maxQueued: webhooks.maxQueuedUpdatesPerWebhook,
    };
  }

  /** All lanes in which something waits; those that are due longest first. */
  async lanes(tx: EntityManager): Promise<WaitingLane[]> {
    const found = await rows<UpdateRow>(
      tx,
      `SELECT webhook_id, subject_id, greatest(next_attempt_at, w.next_probe_at) AS due_at, w.failures_in_row
       FROM (SELECT DISTINCT ON (webhook_id, subject_id) webhook_id, subject_id, id, next_attempt_at FROM webhook_update
         ORDER BY webhook_id, subject_id, id) AS head
       JOIN webhook w ON w.id = head.webhook_id ORDER BY due_at, head.id`,
    );
    return found.map((row) => this.toLane(row));
  }

  async first(tx: EntityManager, lane: Lane): Promise<QueuedUpdate | undefined> {
    const found = await rows<UpdateRow>(
      tx,
      `SELECT u.id, u.xmin::text AS version, u.webhook_id, u.subject_id, u.event_at, u.attempts, u.placeholders, u.body,
         greatest(u.next_attempt_at, w.next_probe_at) AS due_at, w.failures_in_row, w.uri, w.secret
       FROM webhook_update u JOIN webhook w ON w.id = u.webhook_id
       WHERE u.webhook_id = $1 AND u.subject_id = $2 ORDER BY u.id LIMIT 1`,
      [lane.webhookId, lane.subjectId],
    );
    return found.map((row) => ({
      ...this.toLane(row),
      id: row.id,
      version: row.version,
      eventAt: row.event_at.getTime(),
      attempts: row.attempts,
      uri: row.uri,
      secret: row.secret ?? undefined,
      placeholders: row.placeholders,
      body: row.body,
    }))[0];
  }

  /** Takes it out of the queue, unless a later event took its place while it was on its way. */
  async delivered(tx: EntityManager, update: QueuedUpdate, now: number): Promise<void> {
    // The webhook first, as everywhere: who deletes one locks it before its updates.
    const [recovered] = await rows(
      tx,
      `UPDATE webhook SET failures_in_row = 0, next_probe_at = NULL WHERE id = $1 AND failures_in_row > 0 RETURNING id`,
      [update.webhookId],
    );
    await tx.query('DELETE FROM webhook_update WHERE id = $1 AND xmin::text = $2', [update.id, update.version]);
    // What failed while it was away need not wait for its turn any longer.
    if (recovered && update.broken) {
      await tx.query('UPDATE webhook_update SET next_attempt_at = $2 WHERE webhook_id = $1 AND next_attempt_at > $2', [
        update.webhookId,
        new Date(now),
      ]);
    }
  }

  /** Puts it off, or makes it a dead letter. */
  async failed(tx: EntityManager, update: QueuedUpdate, error: string, now: number): Promise<void> {
    const [webhook] = await rows<{ failures_in_row: number; queued: number }>(
      tx,
      `UPDATE webhook SET failures_in_row = failures_in_row + 1 WHERE id = $1
       RETURNING failures_in_row, (SELECT count(*)::int FROM webhook_update WHERE webhook_id = $1) AS queued`,
      [update.webhookId],
    );
    if (!webhook) return; // Deleted meanwhile, with its queue.
    const attempts = update.attempts + 1;
    const next = afterFailure(
      { eventAt: update.eventAt, attempts, failuresInRow: webhook.failures_in_row, queued: webhook.queued },
      this.rules,
      now,
      Math.random(),
    );
    if (next.nextProbeAt !== undefined) {
      await tx.query('UPDATE webhook SET next_probe_at = $2 WHERE id = $1', [
        update.webhookId,
        new Date(next.nextProbeAt),
      ]);
    }
    const nextAttemptAt = next.kind === 'retry' ? next.nextAttemptAt : now;
    await tx.query('UPDATE webhook_update SET attempts = $2, last_error = $3, next_attempt_at = $4 WHERE id = $1', [
      update.id,
      attempts,
      error,
      new Date(nextAttemptAt),
    ]);
    if (next.kind === 'give-up') await this.bury(tx, 'id = $2', [new Date(now), update.id]);
  }

  /** Updates past their age whose webhook is not even asked any more become dead letters. */
  async buryForgotten(tx: EntityManager, now: number): Promise<void> {
    if (this.rules.giveUpAfterMillis === 0) return;
    await this.bury(
      tx,
      'event_at < $2 AND webhook_id IN (SELECT id FROM webhook WHERE failures_in_row >= $3 AND next_probe_at > $1)',
      [new Date(now), new Date(now - this.rules.giveUpAfterMillis), this.rules.breakerThreshold],
    );
  }

  private async bury(tx: EntityManager, which: string, parameters: unknown[]): Promise<void> {
    await tx.query(
      `WITH dead AS (DELETE FROM webhook_update WHERE ${which} RETURNING *)
       INSERT INTO webhook_dead_letter (id, webhook_id, update_key, subject_id, event_at, dead_at, attempts, last_error,
         placeholders, listed, body)
       SELECT id, webhook_id, update_key, subject_id, event_at, $1, attempts, last_error, placeholders, listed, body FROM dead`,
      parameters,
    );
  }

  private toLane(row: UpdateRow): WaitingLane {
    return {
      webhookId: row.webhook_id,
      subjectId: row.subject_id,
      dueAt: row.due_at.getTime(),
      broken: isBroken(row.failures_in_row, this.rules),
    };
  }
}
