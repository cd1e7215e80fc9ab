import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Something the leader has to read again. Written by triggers. */
@Entity('leader_change')
export class LeaderChangeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  /** request, slave or rack. */
  @Column({ type: 'text' })
  kind: string;

  /** Id of the request, slave or rack. */
  @Column({ type: 'text' })
  key: string;
}
