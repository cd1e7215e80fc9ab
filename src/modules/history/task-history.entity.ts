import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskHistory } from '../../core/model/task.js';

/** A task that has ended. */
@Index('task_history_by_request', { synchronize: false })
@Index('task_history_by_deploy', ['requestId', 'deployId', 'updatedAt'])
@Index('task_history_by_status', ['requestId', 'lastTaskStatus', 'updatedAt'])
@Index('task_history_by_host', { synchronize: false })
@Index('task_history_by_time', ['updatedAt', 'requestId'])
@Index('task_history_by_run', ['runId'])
@Index('task_history_by_deploy_alone', ['deployId', 'updatedAt'])
@Index('task_history_by_status_alone', ['lastTaskStatus', 'updatedAt'])
@Index('task_history_long', { synchronize: false })
@Index('task_history_unconverted', { synchronize: false })
@Check('task_history_times', '"updated_at" >= "started_at"')
@Entity('task_history')
export class TaskHistoryEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_history_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ name: 'run_id', type: 'text', nullable: true })
  runId: string | null;

  @Column({ name: 'slave_id', type: 'text', nullable: true })
  slaveId: string | null;

  @Column({ type: 'text' })
  host: string;

  @Column({ name: 'rack_id', type: 'text', nullable: true })
  rackId: string | null;

  @Column({ name: 'instance_no', type: 'integer' })
  instanceNo: number;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'running_at', type: 'timestamptz', nullable: true })
  runningAt: Date | null;

  @Column({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  @Column({ name: 'last_task_status', type: 'text', nullable: true })
  lastTaskStatus: TaskState | null;

  @Column({ type: 'boolean', default: false })
  purged: boolean;

  @Column({ type: 'jsonb', nullable: true })
  data: TaskHistory | null;

  @Column({ type: 'bytea', nullable: true })
  bytes: Buffer | null;
}
