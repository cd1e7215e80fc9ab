import { Column, Entity, PrimaryColumn } from 'typeorm';

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
