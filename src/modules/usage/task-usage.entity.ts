import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TaskUsage } from '../../core/model/usage.js';
import { epochMillis } from '../../platform/database/entity-values.js';

/** A sample of a running task. */
@Entity('task_usage')
export class TaskUsageEntity implements TaskUsage {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_usage_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'memory_total_bytes', type: 'bigint' })
  memoryTotalBytes: number;

  @PrimaryColumn({
    name: 'sampled_at',
    type: 'timestamptz',
    transformer: epochMillis,
    primaryKeyConstraintName: 'task_usage_pkey',
  })
  timestamp: number;

  @Column({ name: 'cpu_seconds', type: 'double precision' })
  cpuSeconds: number;

  @Column({ name: 'disk_total_bytes', type: 'bigint' })
  diskTotalBytes: number;

  @Column({ name: 'cpus_nr_periods', type: 'bigint' })
  cpusNrPeriods: number;

  @Column({ name: 'cpus_nr_throttled', type: 'bigint' })
  cpusNrThrottled: number;

  @Column({ name: 'cpus_throttled_time_secs', type: 'double precision' })
  cpusThrottledTimeSecs: number;
}
