import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { BackfillTimeState } from '../../../core/requests/backfill.js';

/** Planned times of the past that a caller wants run. */
@Index('run_backfill_by_request', ['requestId', 'createdAt'])
@Index('run_backfill_open', ['requestId'], { where: 'ended_at IS NULL' })
@Check('run_backfill_concurrency_check', '"concurrency" > 0')
@Entity('run_backfill')
export class RunBackfillEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'run_backfill_pkey' })
  id: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'from_at', type: 'timestamptz' })
  fromAt: Date;

  @Column({ name: 'to_at', type: 'timestamptz' })
  toAt: Date;

  @Column({ type: 'integer' })
  concurrency: number;

  @Column({ name: 'newest_first', type: 'boolean' })
  newestFirst: boolean;

  @Column({ type: 'boolean' })
  forced: boolean;

  @Column({ type: 'integer' })
  skipped: number;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'canceled_at', type: 'timestamptz', nullable: true })
  canceledAt: Date | null;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}

/** One of its times, and what has become of it. */
@Index('run_backfill_time_by_request', ['requestId', 'scheduledAt'])
@Entity('run_backfill_time')
export class RunBackfillTimeEntity {
  @PrimaryColumn({ name: 'backfill_id', type: 'text', primaryKeyConstraintName: 'run_backfill_time_pkey' })
  backfillId: string;

  @PrimaryColumn({ name: 'scheduled_at', type: 'timestamptz', primaryKeyConstraintName: 'run_backfill_time_pkey' })
  scheduledAt: Date;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'run_id', type: 'text' })
  runId: string;

  @Column({ type: 'text' })
  state: BackfillTimeState;

  @Column({ name: 'task_id', type: 'text', nullable: true })
  taskId: string | null;
}
