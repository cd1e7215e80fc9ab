import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { SickTaskWait } from '../../../core/model/enums.js';

/** A live task that failed its last liveness check. */
@Index('task_liveness_by_request', ['requestId'])
@Check('task_liveness_failures_check', '"failures" > 0')
@Entity('task_liveness')
export class TaskLivenessEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_liveness_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  /** In a row, counted up to the threshold. */
  @Column({ type: 'integer' })
  failures: number;

  @Column({ name: 'failing_since', type: 'timestamptz' })
  failingSince: Date;

  /** Time at which the threshold was reached. */
  @Column({ name: 'sick_since', type: 'timestamptz', nullable: true })
  sickSince: Date | null;

  @Column({ name: 'status_code', type: 'integer', nullable: true })
  statusCode: number | null;

  @Column({ name: 'error_message', type: 'text', nullable: true })
  errorMessage: string | null;

  /** Reason why it is not replaced, as the leader saw it last. */
  @Column({ name: 'waits_for', type: 'text', nullable: true })
  waitsFor: SickTaskWait | null;

  @Column({ name: 'waits_until', type: 'timestamptz', nullable: true })
  waitsUntil: Date | null;
}

/** Waves of replacements of sick tasks of a deploy in a row. */
@Check('replacement_wave_count_check', '"count" > 0')
@Entity('replacement_wave')
export class ReplacementWaveEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'replacement_wave_pkey' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ type: 'integer' })
  count: number;

  @Column({ name: 'last_at', type: 'timestamptz' })
  lastAt: Date;
}
