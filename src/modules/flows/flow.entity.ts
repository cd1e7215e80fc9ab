import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { FollowCondition, TaskState } from '../../core/model/enums.js';
import type { PendingTask, RunTrigger } from '../../core/model/task.js';

/** A request follows another one. Written by the database, as the documents of requests say. */
@Index('flow_edge_by_parent', ['parentId', 'childId'])
@Entity('flow_edge')
export class FlowEdgeEntity {
  @PrimaryColumn({ name: 'child_id', type: 'text', primaryKeyConstraintName: 'flow_edge_pkey' })
  childId: string;

  @PrimaryColumn({ name: 'parent_id', type: 'text', primaryKeyConstraintName: 'flow_edge_pkey' })
  parentId: string;

  @Column({ type: 'text' })
  condition: FollowCondition;
}

/** Runs that follow each other. Its row is locked by whoever changes anything of it. */
@Index('flow_by_change', ['changedAt'])
@Index('flow_by_request', ['requestId', 'startedAt'])
@Entity('flow')
export class FlowEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'flow_pkey' })
  id: string;

  /** Request of the run with which it begins. */
  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'changed_at', type: 'timestamptz' })
  changedAt: Date;

  @Column({ type: 'integer' })
  runs: number;

  /** Number of runs that were not made: it had as many as it may have. */
  @Column({ type: 'integer', default: 0 })
  refused: number;

  @Column({ type: 'integer', default: 0 })
  reruns: number;
}

/** A run of a flow: it waits, is in the queue of its request, or has ended. */
@Index('flow_run_waiting', ['requestId', 'createdAt'], { where: 'queued_at IS NULL AND ended_at IS NULL' })
@Index('flow_run_by_request', ['requestId', 'createdAt'])
@Index('flow_run_open', ['queuedAt'], { where: 'queued_at IS NOT NULL AND ended_at IS NULL' })
@Unique('flow_run_flow_id_request_id_cause_key', ['flowId', 'requestId', 'cause'])
@Entity('flow_run')
export class FlowRunEntity {
  @PrimaryColumn({ name: 'flow_id', type: 'text', primaryKeyConstraintName: 'flow_run_pkey' })
  flowId: string;

  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'flow_run_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'flow_run_pkey' })
  runId: string;

  /** The end that made it, by its task id: one end makes at most one run of a follower. */
  @Column({ type: 'text' })
  cause: string;

  @Column({ type: 'text', nullable: true })
  trigger: RunTrigger | null;

  @Column({ name: 'parent_runs', type: 'text', array: true })
  parentRuns: string[];

  /** Options that its tries are launched with. */
  @Column({ type: 'jsonb' })
  asked: Partial<PendingTask>;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'queued_at', type: 'timestamptz', nullable: true })
  queuedAt: Date | null;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** Its last try. */
  @Column({ name: 'task_id', type: 'text', nullable: true })
  taskId: string | null;

  @Column({ type: 'text', nullable: true })
  state: TaskState | null;

  /** Texts that its followers get; NULL: they were not read yet. */
  @Column({ type: 'jsonb', nullable: true })
  outputs: Record<string, string> | null;

  /** Reason for which its followers get none. */
  @Column({ name: 'outputs_problem', type: 'text', nullable: true })
  outputsProblem: string | null;
}

/** A parent has ended, once in a flow, as a follower of several parents wants. */
@Entity('flow_fan_in')
export class FlowFanInEntity {
  @PrimaryColumn({ name: 'flow_id', type: 'text', primaryKeyConstraintName: 'flow_fan_in_pkey' })
  flowId: string;

  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'flow_fan_in_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'parent_id', type: 'text', primaryKeyConstraintName: 'flow_fan_in_pkey' })
  parentId: string;

  @Column({ name: 'task_id', type: 'text' })
  taskId: string;
}
