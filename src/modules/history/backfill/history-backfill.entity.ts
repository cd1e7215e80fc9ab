import { Check, Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { PayloadKind } from '../../../core/history/index.js';

/** One run over the rows of an older installation. At most one has not finished. */
@Index('history_backfill_running', { synchronize: false })
@Check('history_backfill_batch_size_check', '"batch_size" > 0')
@Entity('history_backfill')
export class HistoryBackfillEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'history_backfill_pkey',
  })
  id: number;

  @Column({ name: 'batch_size', type: 'integer' })
  batchSize: number;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'finished_at', type: 'timestamptz', nullable: true })
  finishedAt: Date | null;

  /** Kind of record that it is converting. */
  @Column({ type: 'text', default: 'TASK' })
  kind: PayloadKind;

  /** Key of the last row of this kind that was looked at; empty: none yet. */
  @Column({ type: 'text', array: true, default: '{}' })
  position: string[];

  @Column({ name: 'tasks_converted', type: 'bigint', default: 0 })
  tasksConverted: number;

  @Column({ name: 'requests_converted', type: 'bigint', default: 0 })
  requestsConverted: number;

  @Column({ name: 'deploys_converted', type: 'bigint', default: 0 })
  deploysConverted: number;

  @Column({ type: 'bigint', default: 0 })
  unreadable: number;
}

/** A row of an older installation that cannot be read, and why. */
@Entity('unreadable_history')
export class UnreadableHistoryEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'unreadable_history_pkey' })
  kind: string;

  /** Its key: the task id, or the parts of the key joined by a slash. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'unreadable_history_pkey' })
  key: string;

  @Column({ type: 'text' })
  reason: string;

  @Column({ name: 'found_at', type: 'timestamptz' })
  foundAt: Date;

  /** The row as it came, where no table of ours could take it. */
  @Column({ type: 'jsonb', nullable: true })
  source: Record<string, string | null> | null;
}
