import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Rejection } from '../../core/placement/index.js';

/** Reason why a due task waits, as of the scheduler's last change of it. */
@Entity('waiting_reason')
export class WaitingReasonEntity {
  @PrimaryColumn({ name: 'pending_task_id', type: 'text', primaryKeyConstraintName: 'waiting_reason_pkey' })
  pendingTaskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ type: 'text' })
  reason: string;

  @Column({ type: 'text' })
  message: string;

  /** Machines that were looked at. */
  @Column({ type: 'integer' })
  slaves: number;

  @Column({ type: 'jsonb' })
  rejections: Rejection[];

  @Column({ type: 'timestamptz' })
  at: Date;
}
