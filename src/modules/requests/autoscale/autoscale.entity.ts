import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { AutoscaleOutcome, AutoscaleState } from '../../../core/model/autoscale.js';
import { absentWhenNull, epochMillis } from '../../../platform/database/entity-values.js';

const time = { type: 'timestamptz', nullable: true, transformer: epochMillis } as const;
const whole = { type: 'integer', nullable: true, transformer: absentWhenNull } as const;

/** The newest decision of autoscaling about a request. */
@Check('autoscale_instances_check', '"instances" > 0')
@Entity('autoscale')
export class AutoscaleEntity implements AutoscaleState {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'autoscale_pkey' })
  requestId: string;

  @Column({ type: 'timestamptz', transformer: epochMillis })
  at: number;

  @Column({ type: 'text' })
  outcome: AutoscaleOutcome;

  @Column({ type: 'integer' })
  instances: number;

  @Column({ type: 'double precision', nullable: true, transformer: absentWhenNull })
  value?: number;

  @Column(whole)
  needed?: number;

  @Column({ type: 'text', nullable: true, transformer: absentWhenNull })
  reason?: string;

  @Column({ name: 'fewer_since', ...time })
  fewerSince?: number;

  @Column({ name: 'fewer_needed', ...whole })
  fewerNeeded?: number;

  @Column({ name: 'scaled_at', ...time })
  scaledAt?: number;

  @Column({ name: 'scaled_from', ...whole })
  scaledFrom?: number;

  @Column({ name: 'scaled_to', ...whole })
  scaledTo?: number;
}
