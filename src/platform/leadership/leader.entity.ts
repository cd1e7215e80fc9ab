import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The epoch of the present leader; changed by a takeover only. */
@Check('leader_epoch_only_row_check', '"only_row"')
@Entity('leader_epoch')
export class LeaderEpochEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'leader_epoch_pkey' })
  onlyRow: boolean;

  @Column({ type: 'bigint' })
  epoch: number;
}

/** The lease: the instance that leads, and the time until which it does. */
@Check('leader_lease_only_row_check', '"only_row"')
@Entity('leader_lease')
export class LeaderLeaseEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'leader_lease_pkey' })
  onlyRow: boolean;

  @Column({ type: 'text' })
  holder: string;

  @Column({ type: 'text' })
  address: string;

  @Column({ type: 'bigint' })
  epoch: number;

  @Column({ name: 'expires_at', type: 'timestamptz' })
  expiresAt: Date;
}
