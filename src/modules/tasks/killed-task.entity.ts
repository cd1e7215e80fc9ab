import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RequestCleanupType, TaskCleanupType } from '../../core/model/enums.js';

/** A kill that was decided, until the task has ended. */
@Entity('killed_task')
export class KilledTaskEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'killed_task_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'killed_at', type: 'timestamptz' })
  killedAt: Date;

  @Column({ name: 'first_killed_at', type: 'timestamptz' })
  firstKilledAt: Date;

  @Column({ name: 'request_cleanup_type', type: 'text', nullable: true })
  requestCleanupType: RequestCleanupType | null;

  @Column({ name: 'task_cleanup_type', type: 'text', nullable: true })
  taskCleanupType: TaskCleanupType | null;

  @Column({ type: 'integer', default: 0 })
  retries: number;

  @Column({ name: 'grace_millis', type: 'bigint', nullable: true })
  graceMillis: number | null;

  @Column({ name: 'sent_at', type: 'timestamptz', nullable: true })
  sentAt: Date | null;
}
