import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { LaunchDocument } from './launched-tasks.js';

/** The launch document of a live task: written once. */
@Entity('task_launch')
export class TaskLaunchEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_launch_pkey' })
  taskId: string;

  @Column({ type: 'json' })
  document: LaunchDocument;
}
