import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Number of the last applied update of an agent. */
@Entity('agent_cursor')
export class AgentCursorEntity {
  @PrimaryColumn({ name: 'agent_id', type: 'text', primaryKeyConstraintName: 'agent_cursor_pkey' })
  agentId: string;

  @Column({ type: 'text' })
  incarnation: string;

  /** Number of the last update applied. */
  @Column({ name: 'applied_update', type: 'bigint' })
  number: number;
}
