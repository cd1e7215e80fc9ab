import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { WebhookType } from '../../core/model/enums.js';

/** A receiver of updates. */
@Entity('webhook')
export class WebhookEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'webhook_pkey' })
  id: string;

  @Column({ type: 'text' })
  uri: string;

  @Column({ name: 'webhook_type', type: 'text' })
  webhookType: WebhookType;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  secret: string | null;

  @Column({ name: 'failures_in_row', type: 'integer', default: 0 })
  failuresInRow: number;

  @Column({ name: 'next_probe_at', type: 'timestamptz', nullable: true })
  nextProbeAt: Date | null;

  @Column({ name: 'last_attempt_at', type: 'timestamptz', nullable: true })
  lastAttemptAt: Date | null;

  @Column({ name: 'last_error', type: 'text', nullable: true })
  lastError: string | null;
}
