import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ExtendedResources } from '../../core/model/deploy.js';
import type { PendingType, TaskState, TaskCleanupType } from '../../core/model/enums.js';
import type { LaunchDocument } from './launched-task.repository.js';

/** A live task. Active while ended_at is null. */
@Index('task_by_request', ['requestId'])
@Index('task_by_slave', ['slaveId'])
@Index('task_may_run', ['slaveId'], { where: 'may_run' })
@Check('task_instance_no_check', '"instance_no" > 0')
@Entity('task')
export class TaskEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ name: 'slave_id', type: 'text' })
  slaveId: string;

  @Column({ name: 'instance_no', type: 'integer' })
  instanceNo: number;

  @Column({ type: 'text' })
  host: string;

  @Column({ name: 'rack_id', type: 'text' })
  rackId: string;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  /** From when its limits run, where a clock that was ahead started it. */
  @Column({ name: 'counts_since', type: 'timestamptz', nullable: true })
  countsSince: Date | null;

  @Column({ name: 'pending_type', type: 'text' })
  pendingType: PendingType;

  @Column({ name: 'run_id', type: 'text', nullable: true })
  runId: string | null;

  @Column({ name: 'action_id', type: 'text', nullable: true })
  actionId: string | null;

  @Column({ name: 'skip_healthchecks', type: 'boolean', default: false })
  skipHealthchecks: boolean;

  @Column({ type: 'double precision' })
  cpus: number;

  @Column({ name: 'memory_mb', type: 'double precision' })
  memoryMb: number;

  @Column({ name: 'disk_mb', type: 'double precision' })
  diskMb: number;

  /** Null: none. */
  @Column({ type: 'jsonb', nullable: true })
  extended: ExtendedResources | null;

  @Column({ type: 'integer', array: true })
  ports: number[];

  @Column({ type: 'text' })
  incarnation: string;

  @Column({ type: 'text' })
  state: TaskState;

  @Column({ name: 'state_at', type: 'timestamptz' })
  stateAt: Date;

  @Column({ name: 'sent_at', type: 'timestamptz', nullable: true })
  sentAt: Date | null;

  @Column({ name: 'answered_at', type: 'timestamptz', nullable: true })
  answeredAt: Date | null;

  /** Why the last attempt to send its launch was not answered. Counts while there is no answer. */
  @Column({ name: 'unanswered_because', type: 'text', nullable: true })
  unansweredBecause: string | null;

  @Column({ name: 'running_at', type: 'timestamptz', nullable: true })
  runningAt: Date | null;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** It was given up with its machine, which has not said since that it does not run: see PerhapsRunning in the core. */
  @Column({ name: 'may_run', type: 'boolean', default: false })
  mayRun: boolean;

  @Column({ name: 'healthchecks_finished', type: 'boolean', default: false })
  healthchecksFinished: boolean;

  /** Results that count toward the retries of its health check and are not stored any more. */
  @Column({ name: 'healthchecks_dropped', type: 'integer', default: 0 })
  healthchecksDropped: number;

  @Column({ type: 'text', nullable: true })
  directory: string | null;

  /** Time at which the owners were notified that this run takes unusually long. */
  @Column({ name: 'overdue_alert_at', type: 'timestamptz', nullable: true })
  overdueAlertAt: Date | null;
}

/** The launch document of a live task: written once. */
@Entity('task_launch')
export class TaskLaunchEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_launch_pkey' })
  taskId: string;

  @Column({ type: 'json' })
  document: LaunchDocument;
}

/** An update that a later one of the same state replaced. */
export interface FormerUpdate {
  timestamp: number;
  statusMessage?: string;
  /** Decisions look at it; clients do not see it. */
  cleanupType?: TaskCleanupType | null;
}

/** One status of a live task; the first per state wins, except for the message of TASK_STARTING, which says what it waits for now. */
@Entity('task_update')
export class TaskUpdateEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_update_pkey' })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'task_update_pkey' })
  state: TaskState;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  /** For TASK_CLEANING: the reason why the task has to go. The message says it to users; decisions read it here. */
  @Column({ name: 'cleanup_type', type: 'text', nullable: true })
  cleanupType: TaskCleanupType | null;

  @Column({ type: 'jsonb', default: () => "'[]'" })
  previous: FormerUpdate[];
}

/** A wish that one task be compared with what its machine says. */
@Entity('reconciliation_wish')
export class ReconciliationWishEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'reconciliation_wish_pkey' })
  taskId: string;

  @Column({ name: 'asked_at', type: 'timestamptz' })
  askedAt: Date;
}
