import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An update that could not be delivered and is not tried again by itself. Has what it takes to queue it again. */
@Index('webhook_dead_letter_by_webhook', ['webhookId', 'id'])
@Entity('webhook_dead_letter')
export class WebhookDeadLetterEntity {
  @PrimaryColumn({ type: 'bigint', primaryKeyConstraintName: 'webhook_dead_letter_pkey' })
  id: number;

  @Column({ name: 'webhook_id', type: 'text' })
  webhookId: string;

  @Column({ name: 'update_key', type: 'text' })
  updateKey: string;

  @Column({ name: 'subject_id', type: 'text' })
  subjectId: string;

  @Column({ name: 'event_at', type: 'timestamptz' })
  eventAt: Date;

  @Column({ name: 'dead_at', type: 'timestamptz' })
  deadAt: Date;

  @Column({ type: 'integer' })
  attempts: number;

  @Column({ name: 'last_error', type: 'text', nullable: true })
  lastError: string | null;

  @Column({ type: 'jsonb' })
  placeholders: Record<string, string>;

  @Column({ type: 'jsonb' })
  listed: unknown;

  @Column({ type: 'jsonb' })
  body: unknown;
}
