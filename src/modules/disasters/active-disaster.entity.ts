import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DisasterType } from '../../core/model/enums.js';

/** A disaster in force. */
@Entity('active_disaster')
export class ActiveDisasterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'active_disaster_pkey' })
  type: DisasterType;

  @Column({ type: 'timestamptz' })
  since: Date;
}
