import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { LaunchSpec } from '../../cluster/cluster-driver.js';
import type { Task } from '../../core/model/task.js';

export interface TaskLaunchDocument {
  task: Task;
  launch: LaunchSpec;
}

/** The launch document of a live task: written once. */
@Entity('task_launch')
export class TaskLaunchEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_launch_pkey' })
  taskId: string;

  @Column({ type: 'json' })
  document: TaskLaunchDocument;
}
