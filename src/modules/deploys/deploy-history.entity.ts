import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeployState } from '../../core/model/enums.js';
import type { Deploy, DeployResult } from '../../core/model/deploy.js';

export interface StoredDeployData {
  deploy: Deploy;
  deployResult?: DeployResult;
}

/** A deploy, in progress or past, with its result. */
@Index('deploy_history_by_time', { synchronize: false })
@Index('deploy_history_checked', { synchronize: false })
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

  @Column({ type: 'bytea', nullable: true })
  bytes: Buffer | null;
}
