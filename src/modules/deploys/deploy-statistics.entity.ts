import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TaskFailureEvent } from '../../core/model/deploy.js';
import type { TaskState } from '../../core/model/enums.js';

/** Counts over the ended tasks of a deploy. */
@Entity('deploy_statistics')
export class DeployStatisticsEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'deploy_statistics_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'deploy_statistics_pkey' })
  deployId: string;

  @Column({ name: 'num_tasks', type: 'integer', default: 0 })
  numTasks: number;

  @Column({ name: 'num_success', type: 'integer', default: 0 })
  numSuccess: number;

  @Column({ name: 'num_failures', type: 'integer', default: 0 })
  numFailures: number;

  @Column({ name: 'num_sequential_retries', type: 'integer', default: 0 })
  numSequentialRetries: number;

  @Column({ name: 'last_finish_at', type: 'timestamptz', nullable: true })
  lastFinishAt: Date | null;

  @Column({ name: 'last_task_state', type: 'text', nullable: true })
  lastTaskState: TaskState | null;

  @Column({ name: 'average_runtime_millis', type: 'double precision', nullable: true })
  averageRuntimeMillis: number | null;

  @Column({ name: 'runtime_samples', type: 'integer', default: 0 })
  runtimeSamples: number;

  @Column({ name: 'average_scheduling_delay_millis', type: 'double precision', nullable: true })
  averageSchedulingDelayMillis: number | null;

  @Column({ name: 'skipped_runs', type: 'integer', default: 0 })
  skippedRuns: number;

  @Column({ name: 'failed_runs', type: 'integer', default: 0 })
  failedRuns: number;

  @Column({ name: 'failure_events', type: 'jsonb', default: () => "'[]'" })
  failureEvents: TaskFailureEvent[];
}
