import { Inject, Injectable } from '@nestjs/common';
import { audienceOf, isSystemMail, type MailEvent } from '../../core/mail/index.js';
import { storableText } from '../../core/storable-text.js';
import { Clock } from '../../platform/clock.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/**
 * Queues mails in the transaction of what they tell of, so that a mail exists exactly when that has happened. Signal 'mails' after
 * the commit. Where no `smtp` is set nothing is written or asked. By hand: one statement that writes what may be written.
 */
@Injectable()
export class MailOutboxRepository {
  private readonly smtp: Settings['smtp'];
  private readonly waitMillis: number;

  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) { smtp, taskMetadata }: Settings,
  ) {
    this.smtp = smtp;
    this.waitMillis = taskMetadata.waitToSendTaskCompletedMailBufferMillis;
  }

  /** True if mails are sent at all: data that only they need is not read otherwise. */
  get isOn(): boolean {
    return this.smtp !== undefined;
  }

  /**
   * None while operators have switched SEND_EMAIL off, and none of a type that its request has too many of already; mails about
   * the service itself always.
   */
  async queue(tx: Transaction, events: readonly MailEvent[]): Promise<void> {
    if (!this.smtp) return;
    const { emails, admins } = this.smtp;
    const now = this.clock.now();
    const entries = events.flatMap((event) => {
      const audience = audienceOf(event, emails);
      if (!audience || (isSystemMail(event.type) && admins.length === 0)) return [];
      const wait = event.facts.kind === 'task-ended' ? this.waitMillis : 0;
      return {
        mail_type: event.type,
        request_id: isSystemMail(event.type) ? null : event.request?.id,
        task_id: event.taskId,
        user_name: event.user,
        event_at: new Date(event.at),
        next_attempt_at: new Date(Math.min(event.at, now) + wait),
        audience,
        facts: event.facts,
      };
    });
    if (entries.length === 0) return;
    await tx.query(
      `INSERT INTO mail (mail_type, request_id, task_id, user_name, event_at, queued_at, next_attempt_at, audience, facts)
       SELECT mail_type, request_id, task_id, user_name, event_at, $2::timestamptz, next_attempt_at, audience, facts
       FROM jsonb_populate_recordset(NULL::mail, $1::jsonb) AS n
       WHERE n.request_id IS NULL OR NOT EXISTS (
           SELECT 1 FROM disabled_action WHERE action = 'SEND_EMAIL' AND (expires_at IS NULL OR expires_at > $2))
         AND NOT EXISTS (SELECT 1 FROM mail_rate r WHERE r.request_id = n.request_id AND r.mail_type = n.mail_type
           AND r.limited_until > n.event_at)`,
      [JSON.stringify(entries, storable), new Date(now)],
    );
  }
}

/** Messages of machines and errors may have what the database cannot store. */
const storable = (_name: string, value: unknown): unknown => (typeof value === 'string' ? storableText(value) : value);
