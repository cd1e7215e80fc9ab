import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ShellCommand } from '../../../core/model/request.js';

const primaryKeyConstraintName = 'task_shell_command_pkey';

/** A command that somebody wants to be run in a live task. */
@Entity('task_shell_command')
@Index('task_shell_command_queued', ['queuedAt'], { where: 'dispatched_at IS NULL' })
export class TaskShellCommandEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName })
  name: string;

  @PrimaryColumn({ name: 'queued_at', type: 'timestamptz', primaryKeyConstraintName })
  queuedAt: Date;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  user: string | null;

  @Column({ type: 'jsonb' })
  document: ShellCommand;

  @Column({ name: 'dispatched_at', type: 'timestamptz', nullable: true })
  dispatchedAt: Date | null;

  @Column({ type: 'boolean', default: false })
  ended: boolean;
}
