import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import { absentWhenNull, epochMillis } from '../../platform/database/entity-values.js';

/** A state that a slave or rack was in. */
@Index('machine_history_by_machine', { synchronize: false })
@Entity('machine_history')
export class MachineHistoryEntity implements MachineStateHistoryUpdate {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column({ name: 'machine_kind', type: 'text' })
  machineKind: MachineKind;

  @Column({ name: 'machine_id', type: 'text' })
  objectId: string;

  @Column({ type: 'text' })
  state: MachineState;

  @Column({ name: 'at', type: 'timestamptz', transformer: epochMillis })
  timestamp: number;

  @Column({ name: 'user_name', type: 'text', nullable: true, transformer: absentWhenNull })
  user?: string;

  @Column({ type: 'text', nullable: true, transformer: absentWhenNull })
  message?: string;
}
