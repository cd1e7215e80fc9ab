import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { HostState } from '../../core/model/state.js';

/** An instance of this service, as it described itself last. */
@Entity('instance')
export class InstanceEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'instance_pkey' })
  id: string;

  /** The epoch it leads in. */
  @Column({ type: 'bigint', nullable: true })
  epoch: number | null;

  @Column({ name: 'status_delay_millis', type: 'bigint', nullable: true })
  statusDelayMillis: number | null;

  @Column({ type: 'jsonb' })
  document: HostState;

  /** The instance for which this process serves the API; null: it is an instance itself. */
  @Column({ name: 'worker_of', type: 'text', nullable: true })
  workerOf: string | null;

  /** Time at which it last reported that it reached an agent and would lead; null: it did not. */
  @Column({ name: 'reaches_agents_at', type: 'timestamptz', nullable: true })
  reachesAgentsAt: Date | null;

  /** Its data directory, which has the folder of the agent; null: an earlier release wrote the row. */
  @Column({ name: 'data_dir', type: 'text', nullable: true })
  dataDir: string | null;

  @Column({ name: 'written_at', type: 'timestamptz' })
  writtenAt: Date;
}
