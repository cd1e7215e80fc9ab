import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The key that signs links to kept logs. */
@Check('log_link_key_only_row_check', '"only_row"')
@Entity('log_link_key')
export class LogLinkKeyEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'log_link_key_pkey' })
  onlyRow: boolean;

  @Column({ type: 'bytea' })
  key: Buffer;
}
