import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The settings of one user. */
@Entity('user_settings')
export class UserSettingsEntity {
  @PrimaryColumn({ name: 'user_id', type: 'text', primaryKeyConstraintName: 'user_settings_pkey' })
  userId: string;

  @Column({ name: 'starred_request_ids', type: 'jsonb', default: [] })
  starredRequestIds: string[];

  /** What programs keep for the user; null: nothing yet. */
  @Column({ type: 'jsonb', nullable: true })
  preferences?: object | null;

  @Column({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
