import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The key of the digests that tokens are found by, where the settings name none. */
@Check('auth_lookup_key_only_row_check', '"only_row"')
@Entity('auth_lookup_key')
export class AuthLookupKeyEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'auth_lookup_key_pkey' })
  onlyRow: boolean;

  @Column({ type: 'text' })
  key: string;
}
