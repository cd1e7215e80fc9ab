import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RequestUtilization } from '../../core/model/usage.js';

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
