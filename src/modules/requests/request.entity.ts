import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Request } from '../../core/model/request.js';
import type { RequestEventType } from '../../core/model/enums.js';

/** A request as it is now. */
@Index('request_by_concurrency_group', { synchronize: false })
@Index('request_by_group', { synchronize: false })
@Index('request_autoscaled', { synchronize: false })
@Index('request_bouncing', ['id'], { where: 'bouncing' })
@Index('request_to_plan', ['planAt'], { where: 'plan_at IS NOT NULL' })
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

  /** Bytes of the document. */
  @Column({ type: 'integer', default: 0 })
  bytes: number;

  @Column({ name: 'schedule_since', type: 'timestamptz', nullable: true })
  scheduleSince: Date | null;

  @Column({ name: 'planned_until', type: 'timestamptz', nullable: true })
  plannedUntil: Date | null;

  @Column({ name: 'plan_at', type: 'timestamptz', nullable: true })
  planAt: Date | null;

  @Column({ name: 'started_runs', type: 'integer', nullable: true })
  startedRuns: number | null;
}

/** Something that happened to a request, with the request as it was afterwards. */
@Index('request_history_by_time', ['createdAt'])
@Index('request_history_ends', ['requestId', 'createdAt'], { where: `event_type = 'DELETED'` })
@Index('request_history_by_prefix', { synchronize: false })
@Index('request_history_unconverted', { synchronize: false })
@Check('request_history_check', '"request" IS NOT NULL OR "bytes" IS NOT NULL')
@Entity('request_history')
export class RequestHistoryEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'request_history_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'created_at', type: 'timestamptz', primaryKeyConstraintName: 'request_history_pkey' })
  createdAt: Date;

  @PrimaryColumn({ name: 'event_type', type: 'text', primaryKeyConstraintName: 'request_history_pkey' })
  eventType: RequestEventType;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ type: 'jsonb', nullable: true })
  request: Request | null;

  @Column({ type: 'bytea', nullable: true })
  bytes: Buffer | null;
}
