import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';

/** A group of machines, and the state it is in. */
@Entity('rack')
export class RackEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'rack_pkey' })
  id: string;

  @Column({ name: 'first_seen_at', type: 'timestamptz' })
  firstSeenAt: Date;

  @Column({ type: 'text' })
  state: MachineState;

  @Column({ name: 'state_at', type: 'timestamptz' })
  stateAt: Date;

  @Column({ name: 'state_user', type: 'text', nullable: true })
  stateUser: string | null;

  @Column({ name: 'state_message', type: 'text', nullable: true })
  stateMessage: string | null;
}
