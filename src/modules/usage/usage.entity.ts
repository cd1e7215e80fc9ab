import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { ClusterUtilization, RequestUtilization, SlaveUsage } from '../../core/model/usage.js';

/** What a slave uses, from its newest sample. */
@Entity('slave_usage')
export class SlaveUsageEntity {
  @PrimaryColumn({ name: 'slave_id', type: 'text', primaryKeyConstraintName: 'slave_usage_pkey' })
  slaveId: string;

  @Column({ type: 'jsonb' })
  document: SlaveUsage;
}

/** What the tasks of a request use, and the deploy that they were of. */
@Entity('request_utilization')
export class RequestUtilizationEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'request_utilization_pkey' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ type: 'jsonb' })
  document: RequestUtilization;
}

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
