import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Whether the detection of disasters may switch actions off by itself. */
@Check('automated_actions_only_row_check', '"only_row"')
@Entity('automated_actions')
export class AutomatedActionsEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'automated_actions_pkey',
  })
  onlyRow: boolean;

  @Column({ type: 'boolean' })
  enabled: boolean;
}
