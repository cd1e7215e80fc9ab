import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The priority freeze in force. */
@Check('priority_freeze_only_row_check', '"only_row"')
@Entity('priority_freeze')
export class PriorityFreezeEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'priority_freeze_pkey' })
  onlyRow: boolean;

  @Column({ name: 'minimum_priority_level', type: 'double precision' })
  minimumPriorityLevel: number;

  @Column({ name: 'kill_tasks', type: 'boolean' })
  killTasks: boolean;

  @Column({ name: 'kill_wanted', type: 'boolean' })
  killWanted: boolean;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'action_id', type: 'text' })
  actionId: string;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'duration_millis', type: 'bigint', nullable: true })
  durationMillis: number | null;
}
