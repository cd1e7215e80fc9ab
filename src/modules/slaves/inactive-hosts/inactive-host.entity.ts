import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A host on which nothing is to run, and when an operator said so. */
@Entity('inactive_host')
export class InactiveHostEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'inactive_host_pkey' })
  host: string;

  @Column({ name: 'marked_at', type: 'timestamptz' })
  markedAt: Date;
}
