import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';

/** A TASK_CLEANING update that a later one replaced. */
export interface FormerUpdate {
  timestamp: number;
  statusMessage?: string;
}

/** One status of a live task; the first per state wins. */
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

  @Column({ type: 'jsonb', default: () => "'[]'" })
  previous: FormerUpdate[];
}
