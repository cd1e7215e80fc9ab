import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ShellCommandUpdateType } from '../../../core/model/enums.js';

const primaryKeyConstraintName = 'task_shell_command_update_pkey';

/** What became of a command. */
@Entity('task_shell_command_update')
export class TaskShellCommandUpdateEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName })
  name: string;

  @PrimaryColumn({ name: 'queued_at', type: 'timestamptz', primaryKeyConstraintName })
  queuedAt: Date;

  @PrimaryColumn({ name: 'update_type', type: 'text', primaryKeyConstraintName })
  updateType: ShellCommandUpdateType;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'output_filename', type: 'text', nullable: true })
  outputFilename: string | null;
}
