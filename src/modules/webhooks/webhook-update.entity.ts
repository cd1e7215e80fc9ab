import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { WebhookEntity } from './webhook.entity.js';

/** An update that waits to be delivered to one webhook. */
@Index('webhook_update_by_lane', ['webhookId', 'subjectId', 'id'])
@Unique('webhook_update_webhook_id_update_key_key', ['webhookId', 'updateKey'])
@Entity('webhook_update')
export class WebhookUpdateEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column({ name: 'webhook_id', type: 'text' })
  webhookId: string;

  @ManyToOne(() => WebhookEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'webhook_id', foreignKeyConstraintName: 'webhook_update_webhook_id_fkey' })
  webhook: WebhookEntity;

  @Column({ name: 'update_key', type: 'text' })
  updateKey: string;

  @Column({ name: 'subject_id', type: 'text' })
  subjectId: string;

  @Column({ name: 'event_at', type: 'timestamptz' })
  eventAt: Date;

  @Column({ name: 'queued_at', type: 'timestamptz' })
  queuedAt: Date;

  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Column({ name: 'next_attempt_at', type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ name: 'last_error', type: 'text', nullable: true })
  lastError: string | null;

  @Column({ type: 'jsonb' })
  placeholders: Record<string, string>;

  @Column({ type: 'jsonb' })
  listed: unknown;

  @Column({ type: 'jsonb' })
  body: unknown;
}
