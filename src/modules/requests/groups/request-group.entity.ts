import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Requests that belong together. */
@Entity('request_group')
export class RequestGroupEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'request_group_pkey' })
  id: string;

  @Column({ name: 'request_ids', type: 'text', array: true })
  requestIds: string[];

  @Column({ type: 'jsonb' })
  metadata: Record<string, string>;
}
