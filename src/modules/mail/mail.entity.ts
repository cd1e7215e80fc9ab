import { Check, Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { Audience, MailFacts } from '../../core/mail/index.js';
import type { EmailType } from '../../core/model/enums.js';

/** A mail that waits to be sent, or was given up. */
@Index('mail_waiting', ['nextAttemptAt', 'id'], { where: 'dead_at IS NULL' })
@Check('mail_stage_check', `stage IN ('NEW', 'MAIL', 'NOTICE')`)
@Entity('mail')
export class MailEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: string;

  @Column({ name: 'mail_type', type: 'text' })
  mailType: EmailType;

  /** Absent: it is about the service itself. */
  @Column({ name: 'request_id', type: 'text', nullable: true })
  requestId: string | null;

  @Column({ name: 'task_id', type: 'text', nullable: true })
  taskId: string | null;

  /** User who caused the event that it is about. */
  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ name: 'event_at', type: 'timestamptz' })
  eventAt: Date;

  @Column({ name: 'queued_at', type: 'timestamptz' })
  queuedAt: Date;

  @Column({ type: 'jsonb' })
  audience: Audience;

  @Column({ type: 'jsonb' })
  facts: MailFacts;

  /** NEW: it is not decided yet whether it is sent. NOTICE: it was one too many, and its recipients are told that. */
  @Column({ type: 'text', default: 'NEW' })
  stage: 'NEW' | 'MAIL' | 'NOTICE';

  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ name: 'next_attempt_at', type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ name: 'waits_since', type: 'timestamptz', nullable: true })
  waitsSince: Date | null;

  @Column({ name: 'last_error', type: 'text', nullable: true })
  lastError: string | null;

  /** Addresses that have not got it yet. Absent: none has. */
  @Column({ type: 'text', array: true, nullable: true })
  unreached: string[] | null;

  @Column({ name: 'dead_at', type: 'timestamptz', nullable: true })
  deadAt: Date | null;
}

const primaryKeyConstraintName = 'mail_rate_pkey';

/** Number of recent mails of one type for a request. */
@Entity('mail_rate')
export class MailRateEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName })
  requestId: string;

  @PrimaryColumn({ name: 'mail_type', type: 'text', primaryKeyConstraintName })
  mailType: EmailType;

  @Column({ name: 'sent_at', type: 'timestamptz', array: true })
  sentAt: Date[];

  @Column({ name: 'limited_until', type: 'timestamptz', nullable: true })
  limitedUntil: Date | null;

  @Column({ name: 'changed_at', type: 'timestamptz' })
  changedAt: Date;
}
