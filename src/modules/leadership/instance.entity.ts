import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { HostState } from '../../core/model/state.js';

/** An instance of this service, as it described itself last. */
@Entity('instance')
export class InstanceEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'instance_pkey' })
  id: string;

  /** The epoch it leads in. */
  @Column({ type: 'bigint', nullable: true })
  epoch: number | null;

  @Column({ name: 'status_delay_millis', type: 'bigint', nullable: true })
  statusDelayMillis: number | null;

  @Column({ type: 'jsonb' })
  document: HostState;

  @Column({ name: 'written_at', type: 'timestamptz' })
  writtenAt: Date;
}
