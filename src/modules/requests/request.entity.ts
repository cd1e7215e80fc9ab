import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Request } from '../../core/model/request.js';

/** A request as it is now. */
@Index('request_bouncing', ['id'], { where: 'bouncing' })
@Entity('request')
export class RequestEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'request_pkey' })
  id: string;

  @Column({ name: 'request_type', type: 'text' })
  requestType: string;

  @Column({ type: 'text' })
  state: string;

  @Column({ type: 'bigint', default: 1 })
  version: number;

  @Column({ name: 'changed_at', type: 'timestamptz' })
  changedAt: Date;

  @Column({ name: 'active_deploy_id', type: 'text', nullable: true })
  activeDeployId: string | null;

  @Column({ name: 'pending_deploy_id', type: 'text', nullable: true })
  pendingDeployId: string | null;

  @Column({ type: 'boolean', default: false })
  bouncing: boolean;

  @Column({ type: 'jsonb' })
  document: Request;
}
