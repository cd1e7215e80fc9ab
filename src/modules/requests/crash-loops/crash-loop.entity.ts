import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { CrashLoopType } from '../../../core/model/enums.js';

/** A crash loop of the active deploy of a request, open or over. */
@Index('crash_loop_open', ['requestId', 'deployId', 'loopType'], { unique: true, where: 'ended_at IS NULL' })
@Entity('crash_loop')
export class CrashLoopEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  deployId: string;

  @PrimaryColumn({ name: 'loop_type', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  loopType: CrashLoopType;

  @PrimaryColumn({ name: 'started_at', type: 'timestamptz', primaryKeyConstraintName: 'crash_loop_pkey' })
  startedAt: Date;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}
