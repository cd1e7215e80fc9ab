import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeployState } from '../../core/model/enums.js';
import type { Deploy, DeployResult } from '../../core/model/deploy.js';
import type { DeployBalance, DeployEnding } from '../../core/deploys/index.js';
import type { DeployProgress } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';

interface StoredDeployData {
  deploy: Deploy;
  deployResult?: DeployResult;
}

/** A deploy, in progress or past, with its result. */
@Index('deploy_history_by_time', { synchronize: false })
@Index('deploy_history_checked', { synchronize: false })
@Index('deploy_history_alive', { synchronize: false })
@Index('deploy_history_by_age', ['createdAt'])
@Index('deploy_history_unconverted', { synchronize: false })
@Check('deploy_history_check', '"data" IS NOT NULL OR "bytes" IS NOT NULL')
@Entity('deploy_history')
export class DeployHistoryEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'deploy_history_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'deploy_history_pkey' })
  deployId: string;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'deploy_state', type: 'text', nullable: true })
  deployState: DeployState | null;

  @Column({ name: 'deploy_state_at', type: 'timestamptz', nullable: true })
  deployStateAt: Date | null;

  @Column({ type: 'jsonb', nullable: true })
  data: StoredDeployData | null;

  /** Bytes of the deploy, without its result. */
  @Column({ name: 'deploy_bytes', type: 'integer', default: 0 })
  deployBytes: number;

  @Column({ type: 'bytea', nullable: true })
  bytes: Buffer | null;
}

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

  /** Bytes of `updatedRequest`. */
  @Column({ type: 'integer', default: 0 })
  bytes: number;

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

  @Column({ name: 'started_by', type: 'text', nullable: true })
  startedBy: string | null;
}
