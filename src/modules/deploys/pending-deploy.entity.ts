import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeployBalance, DeployEnding } from '../../core/deploys/index.js';
import type { DeployProgress } from '../../core/model/deploy.js';
import type { DeployState } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';

/** The deploy of a request that is in progress. */
@Check('pending_deploy_update_target_instances_check', '"update_target_instances" > 0')
@Entity('pending_deploy')
export class PendingDeployEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'pending_deploy_pkey' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ type: 'text' })
  state: DeployState;

  @Column({ type: 'jsonb', nullable: true })
  progress: DeployProgress | null;

  @Column({ name: 'updated_request', type: 'jsonb', nullable: true })
  updatedRequest: Request | null;

  @Column({ type: 'jsonb', nullable: true })
  balance: DeployBalance | null;

  @Column({ type: 'jsonb', nullable: true })
  ending: DeployEnding | null;

  @Column({ name: 'cancel_user', type: 'text', nullable: true })
  cancelUser: string | null;

  @Column({ name: 'cancel_requested_at', type: 'timestamptz', nullable: true })
  cancelRequestedAt: Date | null;

  @Column({ name: 'update_target_instances', type: 'integer', nullable: true })
  updateTargetInstances: number | null;
}
