import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { ClusterUtilization, RequestUtilization, SlaveUsage } from '../../core/model/usage.js';

/** The newest sample of a slave. */
@Entity('slave_usage')
export class SlaveUsageEntity {
  @PrimaryColumn({ name: 'slave_id', type: 'text', primaryKeyConstraintName: 'slave_usage_pkey' })
  slaveId: string;

  @Column({ type: 'jsonb' })
  document: SlaveUsage;
}

/** Use of the tasks of a request, and the deploy that they belonged to. */
@Entity('request_utilization')
export class RequestUtilizationEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'request_utilization_pkey' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ type: 'jsonb' })
  document: RequestUtilization;
}

/** The difference between what all requests ask for and what they use. */
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
