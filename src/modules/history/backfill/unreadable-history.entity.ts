import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A row of an older installation that cannot be read, and why. */
@Entity('unreadable_history')
export class UnreadableHistoryEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'unreadable_history_pkey' })
  kind: string;

  /** Its key: the task id, or the parts of the key joined by a slash. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'unreadable_history_pkey' })
  key: string;

  @Column({ type: 'text' })
  reason: string;

  @Column({ name: 'found_at', type: 'timestamptz' })
  foundAt: Date;

  /** The row as it came, where no table of ours could take it. */
  @Column({ type: 'jsonb', nullable: true })
  source: Record<string, string | null> | null;
}
