import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';
import type { ClusterResourcesObject } from '../../core/model/machine.js';

/** A machine as it was last seen, and the state it is in. */
@Entity('slave')
export class SlaveEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'slave_pkey' })
  id: string;

  @Column({ type: 'text' })
  host: string;

  @Column({ name: 'rack_id', type: 'text' })
  rackId: string;

  @Column({ type: 'jsonb' })
  attributes: Record<string, string>;

  @Column({ type: 'jsonb' })
  resources: ClusterResourcesObject;

  @Column({ name: 'agent_id', type: 'text' })
  agentId: string;

  @Column({ type: 'text' })
  incarnation: string;

  @Column({ name: 'seen_at', type: 'timestamptz' })
  seenAt: Date;

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
