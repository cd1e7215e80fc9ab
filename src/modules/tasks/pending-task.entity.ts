import { Check, Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn, Unique } from 'typeorm';
import type { PendingType } from '../../core/model/enums.js';
import type { PendingTask, PendingRequest } from '../../core/model/task.js';

/** A task that waits for its time or for a machine. */
@Index('pending_task_due', ['nextRunAt', 'id'])
@Index('pending_task_by_request', ['requestId'])
@Check('pending_task_instance_no_check', '"instance_no" > 0')
@Entity('pending_task')
export class PendingTaskEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'pending_task_pkey' })
  id: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ name: 'instance_no', type: 'integer' })
  instanceNo: number;

  @Column({ name: 'pending_type', type: 'text' })
  pendingType: PendingType;

  @Column({ name: 'next_run_at', type: 'timestamptz' })
  nextRunAt: Date;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'run_id', type: 'text', nullable: true })
  runId: string | null;

  @Column({ name: 'delete_requested', type: 'boolean', default: false })
  deleteRequested: boolean;

  @Column({ type: 'jsonb' })
  document: PendingTask;

  /** Bytes of the document. */
  @Column({ type: 'integer', default: 0 })
  bytes: number;
}

/** A wish that the tasks of a request be looked at. */
@Unique('pending_request_request_id_deploy_id_entry_key_key', ['requestId', 'deployId', 'entryKey'])
@Entity('pending_request')
export class PendingRequestEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text' })
  deployId: string;

  @Column({ name: 'entry_key', type: 'text', default: () => "''" })
  entryKey: string;

  @Column({ name: 'pending_type', type: 'text' })
  pendingType: PendingType;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'run_id', type: 'text', nullable: true })
  runId: string | null;

  @Column({ name: 'action_id', type: 'text', nullable: true })
  actionId: string | null;

  @Column({ type: 'jsonb' })
  document: PendingRequest;

  /** Bytes of the document. */
  @Column({ type: 'integer', default: 0 })
  bytes: number;
}
