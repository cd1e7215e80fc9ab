import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';
import type { CrashLoopType } from '../../../core/model/enums.js';
import { epochMillis } from '../../../platform/database/entity-values.js';

/** A crash loop of the active deploy of a request, open or over. */
@Index('crash_loop_open', ['requestId', 'deployId', 'type'], { unique: true, where: 'ended_at IS NULL' })
@Entity('crash_loop')
export class CrashLoopEntity implements CrashLoopInfo {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  deployId: string;

  @PrimaryColumn({
    name: 'started_at',
    type: 'timestamptz',
    transformer: epochMillis,
    primaryKeyConstraintName: 'crash_loop_pkey',
  })
  start: number;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true, transformer: epochMillis })
  end?: number;

  @PrimaryColumn({ name: 'loop_type', type: 'text', primaryKeyConstraintName: 'crash_loop_pkey' })
  type: CrashLoopType;
}
