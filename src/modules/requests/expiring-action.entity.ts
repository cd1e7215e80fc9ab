import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ExpiringKind } from '../../core/model/enums.js';

/** A change that lapses: of a request, a slave or a rack. */
@Entity('expiring_action')
export class ExpiringActionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'expiring_action_pkey' })
  kind: ExpiringKind;

  @PrimaryColumn({ name: 'target_id', type: 'text', primaryKeyConstraintName: 'expiring_action_pkey' })
  targetId: string;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'duration_millis', type: 'bigint' })
  durationMillis: number;

  @Column({ name: 'action_id', type: 'text' })
  actionId: string;

  @Column({ type: 'jsonb' })
  document: Record<string, unknown>;

  @Column({ type: 'jsonb' })
  revert: Record<string, unknown>;
}
