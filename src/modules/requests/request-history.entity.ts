import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RequestEventType } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';

/** Something that happened to a request, with the request as it was afterwards. */
@Index('request_history_by_time', ['createdAt'])
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
