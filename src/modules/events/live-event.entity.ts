import { Check, Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** Changes that were written together, as the event stream tells them. */
@Index('live_event_by_number', ['number'], { unique: true, where: '(number IS NOT NULL)' })
@Index('live_event_without_number', ['id'], { where: '(number IS NULL)' })
@Check('live_event_count_check', 'count > 0')
@Entity('live_event')
export class LiveEventEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id: number;

  @Column({ name: 'written_at', type: 'timestamptz' })
  writtenAt: Date;

  @Column({ type: 'integer' })
  count: number;

  /** A JSON array. */
  @Column({ type: 'text' })
  events: string;

  /** Number of the last of them. null: not given yet. */
  @Column({ type: 'bigint', nullable: true })
  number: number | null;
}

/** Counts all events that there ever were. */
@Check('live_event_count_only_row_check', '"only_row"')
@Entity('live_event_count')
export class LiveEventCountEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'live_event_count_pkey',
  })
  onlyRow: boolean;

  @Column({ name: 'last_number', type: 'bigint' })
  lastNumber: number;
}
