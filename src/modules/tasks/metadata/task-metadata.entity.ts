import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TaskMetadata } from '../../../core/model/task.js';

const primaryKeyConstraintName = 'task_metadata_pkey';

/** A note attached to a live task. */
@Entity('task_metadata')
export class TaskMetadataEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName })
  type: string;

  @PrimaryColumn({ type: 'timestamptz', primaryKeyConstraintName })
  at: Date;

  @Column({ type: 'text' })
  title: string;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  user: string | null;

  @Column({ type: 'text' })
  level: TaskMetadata['level'];
}
