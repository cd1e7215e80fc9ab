import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { TaskCleanupType, RequestCleanupType } from '../../core/model/enums.js';
import type { TaskShellCommandRequestId } from '../../core/model/task.js';

/** A task that has to go, and why. */
@Index('task_cleanup_by_request', ['requestId'])
@Entity('task_cleanup')
export class TaskCleanupEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_cleanup_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'cleanup_type', type: 'text' })
  cleanupType: TaskCleanupType;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'action_id', type: 'text', nullable: true })
  actionId: string | null;

  @Column({ name: 'run_before_kill', type: 'jsonb', nullable: true })
  runBeforeKill: TaskShellCommandRequestId | null;

  @Column({ name: 'remove_from_load_balancer', type: 'boolean', nullable: true })
  removeFromLoadBalancer: boolean | null;
}

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
