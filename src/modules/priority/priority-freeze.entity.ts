import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { PriorityFreeze, PriorityFreezeParent } from '../../core/model/state.js';
import { absentWhenNull, epochMillis } from '../../platform/database/entity-values.js';

class PriorityFreezeColumns implements PriorityFreeze {
  @Column({ name: 'minimum_priority_level', type: 'double precision' })
  minimumPriorityLevel: number;

  @Column({ name: 'kill_tasks', type: 'boolean' })
  killTasks: boolean;

  @Column({ type: 'text', nullable: true, transformer: absentWhenNull })
  message?: string;

  @Column({ name: 'action_id', type: 'text' })
  actionId: string;

  @Column({ name: 'duration_millis', type: 'bigint', nullable: true, transformer: absentWhenNull })
  durationMillis?: number;
}

/** The priority freeze in force. */
@Check('priority_freeze_only_row_check', '"only_row"')
@Entity('priority_freeze')
export class PriorityFreezeEntity implements PriorityFreezeParent {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'priority_freeze_pkey' })
  onlyRow: boolean;

  @Column(() => PriorityFreezeColumns, { prefix: false })
  priorityFreeze: PriorityFreezeColumns;

  @Column({ name: 'started_at', type: 'timestamptz', transformer: epochMillis })
  timestamp: number;

  @Column({ name: 'user_name', type: 'text', nullable: true, transformer: absentWhenNull })
  user?: string;

  /** Tasks below the level are still to be killed. */
  @Column({ name: 'kill_wanted', type: 'boolean' })
  killWanted: boolean;
}
