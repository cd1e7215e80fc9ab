import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ProgramRole, ProgramState } from '../../../core/model/enums.js';

/** Newest state of a program around the main one of a live task. */
@Entity('task_program')
export class TaskProgramEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_program_pkey' })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'task_program_pkey' })
  name: string;

  @Column({ type: 'text' })
  role: ProgramRole;

  @Column({ type: 'text' })
  state: ProgramState;

  /** Number of its starts by now. */
  @Column({ type: 'integer' })
  starts: number;

  /** Time of its first state. */
  @Column({ name: 'begun_at', type: 'timestamptz' })
  begunAt: Date;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ name: 'exit_code', type: 'integer', nullable: true })
  exitCode: number | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;
}
