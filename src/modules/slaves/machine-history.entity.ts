import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';

/** A state that a slave or rack was in. */
@Index('machine_history_by_machine', { synchronize: false })
@Entity('machine_history')
export class MachineHistoryEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column({ name: 'machine_kind', type: 'text' })
  machineKind: string;

  @Column({ name: 'machine_id', type: 'text' })
  machineId: string;

  @Column({ type: 'text' })
  state: MachineState;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;
}
