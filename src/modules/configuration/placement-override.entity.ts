import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { SlavePlacement } from '../../core/model/enums.js';

/** Settings of operators for the placement of all requests. */
@Check('placement_override_only_row_check', '"only_row"')
@Entity('placement_override')
export class PlacementOverrideEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'placement_override_pkey',
  })
  onlyRow: boolean;

  @Column({ name: 'slave_placement', type: 'text', nullable: true })
  slavePlacement: SlavePlacement | null;

  @Column({ name: 'ignores_rack_sensitivity', type: 'boolean', default: false })
  ignoresRackSensitivity: boolean;
}
