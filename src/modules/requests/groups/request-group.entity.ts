import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TimeWindow } from '../../../core/model/request.js';
import { absentWhenNull, epochMillis } from '../../../platform/database/entity-values.js';

/** Requests that belong together. */
@Entity('request_group')
export class RequestGroupEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'request_group_pkey' })
  id: string;

  @Column({ name: 'request_ids', type: 'text', array: true })
  requestIds: string[];

  @Column({ type: 'jsonb' })
  metadata: Record<string, string>;

  @Column({ name: 'deploy_windows', type: 'jsonb', nullable: true, transformer: absentWhenNull })
  deployWindows?: TimeWindow[];

  /** When these windows were saved first; absent without windows. */
  @Column({ name: 'windows_since', type: 'timestamptz', nullable: true, transformer: epochMillis })
  windowsSince?: number;
}
