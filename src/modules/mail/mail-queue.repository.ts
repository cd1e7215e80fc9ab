import { Injectable } from '@nestjs/common';
import type { Audience, MailFacts, RateLimitState } from '../../core/mail/index.js';
import type { EmailType } from '../../core/model/enums.js';
import type { ClockLimit } from '../../platform/clock-limit.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';

export interface QueuedMail {
  id: string;
  type: EmailType;
  requestId?: string;
  taskId?: string;
  user?: string;
  at: number;
  queuedAt: number;
  audience: Audience;
  facts: MailFacts;
  stage: 'NEW' | 'MAIL' | 'NOTICE';
  attempts: number;
  unreached?: string[];
}

/** Rate of the mails of one type and request. */
export interface MailRate {
  requestId: string;
  type: EmailType;
  state: RateLimitState;
}

interface MailRow {
  id: string;
  mail_type: EmailType;
  request_id: string | null;
  task_id: string | null;
  user_name: string | null;
  event_at: Date;
  queued_at: Date;
  audience: Audience;
  facts: MailFacts;
  stage: QueuedMail['stage'];
  attempts: number;
  unreached: string[] | null;
}

interface RateRow {
  request_id: string;
  mail_type: EmailType;
  sent_at: Date[];
  limited_until: Date | null;
}

/** Condition under which a mail may be decided: the note that it waits for is on the task, or its time has come. */
const mayBeDecided = `(next_attempt_at <= $1 OR $2::text IS NOT NULL AND facts->>'kind' = 'task-ended' AND (
  EXISTS (SELECT 1 FROM task_metadata n WHERE n.task_id = mail.task_id AND n.type = $2)
  OR EXISTS (SELECT 1 FROM task_history h WHERE h.task_id = mail.task_id
    AND h.data->'taskMetadata' @> jsonb_build_array(jsonb_build_object('type', $2::text)))))`;

/** Mails that wait, as those see them who send them. Written by the leader only. By hand: partial indexes, and many rows at a time. */
@Injectable()
export class MailQueueRepository {
  /** Oldest first. noteType: with such a note on its task, a mail about its end waits no longer. */
  async undecided(tx: Transaction, now: Date, noteType: string | undefined, most: number): Promise<QueuedMail[]> {
    const found = await rows<MailRow>(
      tx,
      `SELECT * FROM mail WHERE dead_at IS NULL AND stage = 'NEW' AND ${mayBeDecided} ORDER BY id LIMIT $3`,
      [now, noteType ?? null, most],
    );
    return found.map(toMail);
  }

  async rates(tx: Transaction, mails: readonly QueuedMail[]): Promise<MailRate[]> {
    const found = await rows<RateRow>(
      tx,
      `SELECT request_id, mail_type, sent_at, limited_until FROM mail_rate
       WHERE (request_id, mail_type) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
      [mails.map(({ requestId }) => requestId ?? null), mails.map(({ type }) => type)],
    );
    return found.map((row) => ({
      requestId: row.request_id,
      type: row.mail_type,
      state: { sentAt: row.sent_at.map((at) => at.getTime()), limitedUntil: toMillis(row.limited_until) },
    }));
  }

  async saveRates(tx: Transaction, rates: readonly MailRate[], now: Date): Promise<void> {
    if (rates.length === 0) return;
    await tx.query(
      `INSERT INTO mail_rate (request_id, mail_type, sent_at, limited_until, changed_at)
       SELECT request_id, mail_type, sent_at, limited_until, $2 FROM jsonb_populate_recordset(NULL::mail_rate, $1::jsonb)
       ON CONFLICT (request_id, mail_type) DO UPDATE SET
         sent_at = excluded.sent_at, limited_until = excluded.limited_until, changed_at = excluded.changed_at`,
      [
        JSON.stringify(
          rates.map(({ requestId, type, state }) => ({
            request_id: requestId,
            mail_type: type,
            sent_at: state.sentAt.map((at) => new Date(at)),
            limited_until: state.limitedUntil === undefined ? null : new Date(state.limitedUntil),
          })),
        ),
        now,
      ],
    );
  }

  async decide(tx: Transaction, stage: 'MAIL' | 'NOTICE', ids: readonly string[], now: Date): Promise<void> {
    if (ids.length === 0) return;
    await tx.query('UPDATE mail SET stage = $1, next_attempt_at = $3, waits_since = $3 WHERE id = ANY ($2)', [
      stage,
      ids,
      now,
    ]);
  }

  async remove(tx: Transaction, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query('DELETE FROM mail WHERE id = ANY ($1)', [ids]);
  }

  /** Decided ones whose time has come, without those under way; oldest first. */
  async due(tx: Queryable, now: Date, underWay: readonly string[], most: number): Promise<QueuedMail[]> {
    const found = await rows<MailRow>(
      tx,
      `SELECT * FROM mail WHERE dead_at IS NULL AND stage <> 'NEW' AND next_attempt_at <= $1 AND id <> ALL ($2)
       ORDER BY next_attempt_at, id LIMIT $3`,
      [now, underWay, most],
    );
    return found.map(toMail);
  }

  /** Time at which the next one is due; undefined: none is put off. */
  async nextDue(tx: Queryable, after: Date): Promise<number | undefined> {
    const [found] = await rows<{ at: Date | null }>(
      tx,
      'SELECT min(next_attempt_at) AS at FROM mail WHERE dead_at IS NULL AND next_attempt_at > $1',
      [after],
    );
    return toMillis(found?.at ?? null);
  }

  async putOff(
    tx: Transaction,
    id: string,
    { now, until, ...result }: { attempts: number; error: string; now: Date; until: Date; unreached?: string[] },
  ): Promise<void> {
    await tx.query(
      `UPDATE mail SET attempts = $2, last_error = $3, next_attempt_at = $4, waits_since = $6,
         unreached = coalesce($5, unreached) WHERE id = $1`,
      [id, result.attempts, result.error, until, result.unreached ?? null, now],
    );
  }

  /**
   * Makes mails due now that wait since a time that is still to come, and drops rates of then. Returns the number of
   * mails.
   */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    await tx.query('DELETE FROM mail_rate WHERE changed_at > $1', [latest]);
    const due = await rows(
      tx,
      `UPDATE mail SET next_attempt_at = $1, waits_since = $1, queued_at = least(queued_at, $1)
       WHERE dead_at IS NULL AND next_attempt_at > $1 AND greatest(queued_at, waits_since) > $2 RETURNING 1`,
      [now, latest],
    );
    return due.length;
  }

  async giveUp(tx: Transaction, id: string, now: Date): Promise<void> {
    await tx.query('UPDATE mail SET dead_at = $2 WHERE id = $1', [id, now]);
  }

  /** Gives up what is about something before `since`, and the oldest beyond `most`. Answers how many. */
  async giveUpSurplus(tx: Transaction, since: Date, most: number, now: Date): Promise<number> {
    const old = await rows(
      tx,
      `UPDATE mail SET dead_at = $2, last_error = coalesce(last_error, 'too old') WHERE dead_at IS NULL AND event_at < $1 RETURNING id`,
      [since, now],
    );
    const surplus = await rows(
      tx,
      `UPDATE mail SET dead_at = $2, last_error = 'too many are waiting' WHERE dead_at IS NULL AND id <= (
         SELECT id FROM mail WHERE dead_at IS NULL ORDER BY id DESC OFFSET $1 LIMIT 1) RETURNING id`,
      [most, now],
    );
    return old.length + surplus.length;
  }

  /** Mails that were given up before the one time, and what is remembered of the rate from before the other. */
  async forget(tx: Transaction, givenUpBefore: Date, sentBefore: Date): Promise<void> {
    await tx.query('DELETE FROM mail WHERE dead_at < $1', [givenUpBefore]);
    await tx.query('DELETE FROM mail_rate WHERE changed_at < $1', [sentBefore]);
  }

  /** Counts mails that wait and that were given up, and reads when the oldest that waits was queued. */
  async counts(tx: Transaction): Promise<{ waiting: number; dead: number; oldestAt?: number }> {
    const [found] = await rows<{ waiting: number; dead: number; oldest: Date | null }>(
      tx,
      `SELECT (count(*) FILTER (WHERE dead_at IS NULL))::int AS waiting, (count(*) FILTER (WHERE dead_at IS NOT NULL))::int AS dead,
         min(queued_at) FILTER (WHERE dead_at IS NULL) AS oldest FROM mail`,
    );
    return { waiting: found!.waiting, dead: found!.dead, oldestAt: toMillis(found!.oldest) };
  }
}

const toMail = (row: MailRow): QueuedMail => ({
  id: row.id,
  type: row.mail_type,
  requestId: row.request_id ?? undefined,
  taskId: row.task_id ?? undefined,
  user: row.user_name ?? undefined,
  at: row.event_at.getTime(),
  queuedAt: row.queued_at.getTime(),
  audience: row.audience,
  facts: row.facts,
  stage: row.stage,
  attempts: row.attempts,
  unreached: row.unreached ?? undefined,
});
