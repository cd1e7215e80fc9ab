import { Injectable } from '@nestjs/common';
import type { WebhookType } from '../../core/model/enums.js';
import type { ClockLimit } from '../../platform/clock-limit.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';

/**
 * The updates of one request for one webhook. They are sent one after the other, in the order in which they were
 * queued.
 */
export interface Lane {
  webhookId: string;
  subjectId: string;
}

/** A lane with the time from which its oldest update may go out. */
export interface WaitingLane extends Lane {
  dueAt: number;
  /** Failures of its webhook in a row, over all its lanes. */
  failuresInRow: number;
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

/**
 * Updates that wait to be delivered, as delivery sees them. Written by the leader only. By hand: the order of lanes, row
 * versions, and rows that move from table to table in one statement.
 */
@Injectable()
export class WebhookQueueRepository {
  /** All lanes in which something waits, of webhooks that are not left alone now; those that are due longest first. */
  async lanes(tx: Queryable, now: Date): Promise<WaitingLane[]> {
    const found = await rows<UpdateRow>(
      tx,
      // Webhook by webhook: what waits for those that are dead, however much it is, is not even looked at.
      `SELECT w.id AS webhook_id, head.subject_id, greatest(head.next_attempt_at, w.next_probe_at) AS due_at, w.failures_in_row
       FROM webhook w CROSS JOIN LATERAL (SELECT DISTINCT ON (u.subject_id) u.subject_id, u.id, u.next_attempt_at
         FROM webhook_update u WHERE u.webhook_id = w.id ORDER BY u.subject_id, u.id) AS head
       WHERE w.next_probe_at IS NULL OR w.next_probe_at <= $1 ORDER BY due_at, head.id`,
      [now],
    );
    return found.map((row) => toLane(row));
  }

  /**
   * The time at which the first of the webhooks that are left alone now, and for which something waits, is asked again.
   */
  async nextProbe(tx: Queryable, now: Date): Promise<number | undefined> {
    const [found] = await rows<{ at: Date | null }>(
      tx,
      `SELECT min(next_probe_at) AS at FROM webhook w
       WHERE next_probe_at > $1 AND EXISTS (SELECT 1 FROM webhook_update u WHERE u.webhook_id = w.id)`,
      [now],
    );
    return toMillis(found!.at);
  }

  /**
   * Stores the result of the newest delivery of each webhook. Locks the webhooks, in the order of ids: before their
   * updates, as everywhere.
   */
  async noteResults(
    tx: Transaction,
    results: ReadonlyMap<string, { at: Date; error: string | undefined }>,
  ): Promise<void> {
    const ids = [...results.keys()].toSorted();
    await tx.query(
      `WITH locked AS (SELECT id FROM webhook WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE)
       UPDATE webhook w SET last_attempt_at = r.at, last_error = r.error
       FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS r (id, at, error) JOIN locked USING (id) WHERE w.id = r.id`,
      [ids, ids.map((id) => results.get(id)!.at), ids.map((id) => results.get(id)!.error ?? null)],
    );
  }

  /**
   * Queues the oldest dead letters of a webhook again, as far as there is room, and gives it another chance at once. One whose
   * place a newer update has taken is dropped. Answers how many wait again.
   */
  async resend(
    tx: Transaction,
    webhookId: string,
    ids: readonly number[] | undefined,
    most: number,
    now: Date,
  ): Promise<number> {
    await tx.query('UPDATE webhook SET failures_in_row = 0, next_probe_at = NULL WHERE id = $1', [webhookId]);
    const queued = await rows(
      tx,
      `WITH letter AS (DELETE FROM webhook_dead_letter WHERE id IN (SELECT id FROM webhook_dead_letter
           WHERE webhook_id = $1 AND ($2::bigint[] IS NULL OR id = ANY ($2)) ORDER BY id
           LIMIT greatest(0, $3 - (SELECT count(*) FROM webhook_update WHERE webhook_id = $1))) RETURNING *)
       INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders, listed, body)
       SELECT webhook_id, update_key, subject_id, event_at, $4, $4, placeholders, listed, body FROM letter ORDER BY id
       ON CONFLICT (webhook_id, update_key) DO NOTHING RETURNING 1`,
      [webhookId, ids ?? null, most, now],
    );
    return queued.length;
  }

  async first(tx: Queryable, lane: Lane): Promise<QueuedUpdate | undefined> {
    const found = await rows<UpdateRow>(
      tx,
      `SELECT u.id, u.xmin::text AS version, u.webhook_id, u.subject_id, u.event_at, u.attempts, u.placeholders, u.body,
         greatest(u.next_attempt_at, w.next_probe_at) AS due_at, w.failures_in_row, w.uri, w.secret
       FROM webhook_update u JOIN webhook w ON w.id = u.webhook_id
       WHERE u.webhook_id = $1 AND u.subject_id = $2 ORDER BY u.id LIMIT 1`,
      [lane.webhookId, lane.subjectId],
    );
    return found.map((row) => ({
      ...toLane(row),
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

  /** Updates of one type as the queue endpoints show them, of the webhooks of these ids or of all; oldest first. */
  async listed<T>(tx: Queryable, type: WebhookType, webhookIds: readonly string[] | undefined): Promise<T[]> {
    const found = await rows<{ listed: T }>(
      tx,
      `SELECT u.listed FROM webhook_update u JOIN webhook w ON w.id = u.webhook_id
       WHERE w.webhook_type = $1 AND ($2::text[] IS NULL OR w.id = ANY ($2)) ORDER BY u.id`,
      [type, webhookIds ?? null],
    );
    return found.map((row) => row.listed);
  }

  /** Takes them out of the queue, but for those whose place a later event took while they were on their way. */
  async remove(tx: Transaction, updates: readonly QueuedUpdate[]): Promise<void> {
    await tx.query(
      `DELETE FROM webhook_update u USING unnest($1::bigint[], $2::text[]) AS d (id, version)
       WHERE u.id = d.id AND u.xmin::text = d.version`,
      [updates.map(({ id }) => id), updates.map(({ version }) => version)],
    );
  }

  async putOff(tx: Transaction, id: string, attempts: number, error: string, until: Date): Promise<void> {
    await tx.query('UPDATE webhook_update SET attempts = $2, last_error = $3, next_attempt_at = $4 WHERE id = $1', [
      id,
      attempts,
      error,
      until,
    ]);
  }

  /** Ends the delay of updates whose delivery failed before. */
  async makeDue(tx: Transaction, webhookId: string, now: Date): Promise<void> {
    await tx.query('UPDATE webhook_update SET next_attempt_at = $2 WHERE webhook_id = $1 AND next_attempt_at > $2', [
      webhookId,
      now,
    ]);
  }

  /**
   * Makes updates due now that are queued, or whose webhook was last asked, at a time that is still to come; that time
   * is stored with each wait. Returns the number of updates. Locks the webhooks before their updates, as everywhere.
   */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const asked = await rows<{ id: string }>(
      tx,
      `UPDATE webhook SET last_attempt_at = $1, next_probe_at = least(next_probe_at, $1) WHERE last_attempt_at > $2 RETURNING id`,
      [now, latest],
    );
    const due = await rows(
      tx,
      `UPDATE webhook_update SET next_attempt_at = $1, queued_at = least(queued_at, $1)
       WHERE next_attempt_at > $1 AND (queued_at > $2 OR webhook_id = ANY ($3)) RETURNING 1`,
      [now, latest, asked.map(({ id }) => id)],
    );
    return due.length;
  }

  /** These webhooks took an update. Answers those that had failed before. */
  async endFailures(tx: Transaction, webhookIds: readonly string[]): Promise<Set<string>> {
    const recovered = await rows<{ id: string }>(
      tx,
      `UPDATE webhook SET failures_in_row = 0, next_probe_at = NULL WHERE id = ANY ($1) AND failures_in_row > 0 RETURNING id`,
      [webhookIds],
    );
    return new Set(recovered.map(({ id }) => id));
  }

  /** undefined: the webhook was deleted, with its queue. */
  async countFailure(
    tx: Transaction,
    webhookId: string,
  ): Promise<{ failuresInRow: number; queued: number } | undefined> {
    const [webhook] = await rows<{ failures_in_row: number; queued: number }>(
      tx,
      `UPDATE webhook SET failures_in_row = failures_in_row + 1 WHERE id = $1
       RETURNING failures_in_row, (SELECT count(*)::int FROM webhook_update WHERE webhook_id = $1) AS queued`,
      [webhookId],
    );
    return webhook && { failuresInRow: webhook.failures_in_row, queued: webhook.queued };
  }

  async leaveAloneUntil(tx: Transaction, webhookId: string, nextProbeAt: Date): Promise<void> {
    await tx.query('UPDATE webhook SET next_probe_at = $2 WHERE id = $1', [webhookId, nextProbeAt]);
  }

  /** Makes one update a dead letter. */
  giveUp(tx: Transaction, id: string, now: Date): Promise<void> {
    return this.bury(tx, 'id = $2', [now, id]);
  }

  /** Makes updates of events before `since` dead letters where the webhook failed so many times that it is left alone now. */
  giveUpForgotten(tx: Transaction, since: Date, failuresInRow: number, now: Date): Promise<void> {
    return this.bury(
      tx,
      'event_at < $2 AND webhook_id IN (SELECT id FROM webhook WHERE failures_in_row >= $3 AND next_probe_at > $1)',
      [now, since, failuresInRow],
    );
  }

  /** Forgets updates that were given up before `since`, and of each webhook all but the newest `most`. */
  async forgetDeadLetters(tx: Transaction, since: Date | undefined, most: number): Promise<void> {
    if (since) await tx.query('DELETE FROM webhook_dead_letter WHERE dead_at < $1', [since]);
    if (most === 0) return;
    await tx.query(
      `DELETE FROM webhook_dead_letter d USING (
         SELECT webhook_id, (SELECT id FROM webhook_dead_letter l WHERE l.webhook_id = w.webhook_id
           ORDER BY id DESC OFFSET $1 LIMIT 1) AS last
         FROM (SELECT DISTINCT webhook_id FROM webhook_dead_letter) AS w) AS beyond
       WHERE d.webhook_id = beyond.webhook_id AND d.id <= beyond.last`,
      [most],
    );
  }

  private async bury(tx: Transaction, which: string, parameters: unknown[]): Promise<void> {
    await tx.query(
      `WITH dead AS (DELETE FROM webhook_update WHERE ${which} RETURNING *)
       INSERT INTO webhook_dead_letter (id, webhook_id, update_key, subject_id, event_at, dead_at, attempts, last_error,
         placeholders, listed, body)
       SELECT id, webhook_id, update_key, subject_id, event_at, $1, attempts, last_error, placeholders, listed, body FROM dead`,
      parameters,
    );
  }
}

const toLane = (row: UpdateRow): WaitingLane => ({
  webhookId: row.webhook_id,
  subjectId: row.subject_id,
  dueAt: row.due_at.getTime(),
  failuresInRow: row.failures_in_row,
});
