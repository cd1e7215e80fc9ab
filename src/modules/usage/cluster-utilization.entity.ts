import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { ClusterUtilization } from '../../core/model/usage.js';

/** How far all requests are from using what they ask for. */
@Check('cluster_utilization_only_row_check', '"only_row"')
@Entity('cluster_utilization')
export class ClusterUtilizationEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'cluster_utilization_pkey',
  })
  onlyRow: boolean;

  @Column({ type: 'jsonb' })
  document: ClusterUtilization;
}
