import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ShellCommand } from '../../../core/model/request.js';
import type { ShellCommandUpdateType } from '../../../core/model/enums.js';

const commandKey = 'task_shell_command_pkey';

/** A command that a user wants to be run in a live task. */
@Entity('task_shell_command')
@Index('task_shell_command_queued', ['queuedAt'], { where: 'dispatched_at IS NULL' })
export class TaskShellCommandEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: commandKey })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: commandKey })
  name: string;

  @PrimaryColumn({ name: 'queued_at', type: 'timestamptz', primaryKeyConstraintName: commandKey })
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

const updateKey = 'task_shell_command_update_pkey';

/** Progress of a command. */
@Entity('task_shell_command_update')
export class TaskShellCommandUpdateEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: updateKey })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: updateKey })
  name: string;

  @PrimaryColumn({ name: 'queued_at', type: 'timestamptz', primaryKeyConstraintName: updateKey })
  queuedAt: Date;

  @PrimaryColumn({ name: 'update_type', type: 'text', primaryKeyConstraintName: updateKey })
  updateType: ShellCommandUpdateType;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'output_filename', type: 'text', nullable: true })
  outputFilename: string | null;
}
