import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { DisasterType } from '../../core/model/enums.js';

/** A disaster in force. */
@Entity('active_disaster')
export class ActiveDisasterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'active_disaster_pkey' })
  type: DisasterType;

  @Column({ type: 'timestamptz' })
  since: Date;
}

/** Says if the detection of disasters may switch actions off by itself. */
@Check('automated_actions_only_row_check', '"only_row"')
@Entity('automated_actions')
export class AutomatedActionsEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'automated_actions_pkey',
  })
  onlyRow: boolean;

  @Column({ type: 'boolean' })
  enabled: boolean;
}

/** The cluster in figures at one moment. */
@Entity('disaster_data_point')
export class DisasterDataPointEntity {
  @PrimaryColumn({ type: 'timestamptz', primaryKeyConstraintName: 'disaster_data_point_pkey' })
  at: Date;

  @Column({ name: 'active_tasks', type: 'integer' })
  activeTasks: number;

  @Column({ name: 'pending_tasks', type: 'integer' })
  pendingTasks: number;

  @Column({ name: 'late_tasks', type: 'integer' })
  lateTasks: number;

  @Column({ name: 'avg_task_lag_millis', type: 'bigint' })
  avgTaskLagMillis: number;

  @Column({ name: 'lost_tasks', type: 'integer' })
  lostTasks: number;

  @Column({ name: 'active_slaves', type: 'integer' })
  activeSlaves: number;

  @Column({ name: 'lost_slaves', type: 'integer' })
  lostSlaves: number;
}
