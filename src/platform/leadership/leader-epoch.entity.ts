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
