import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SlaveUsage } from '../../core/model/usage.js';

/** What a slave uses, from its newest sample. */
@Entity('slave_usage')
export class SlaveUsageEntity {
  @PrimaryColumn({ name: 'slave_id', type: 'text', primaryKeyConstraintName: 'slave_usage_pkey' })
  slaveId: string;

  @Column({ type: 'jsonb' })
  document: SlaveUsage;
}
