import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';

/** A status update that could not be stored, or waits behind one of its task that could not. */
@Entity('held_status_update')
export class HeldStatusUpdateEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'held_status_update_pkey',
  })
  id: number;

  @Column({ name: 'task_id', type: 'text' })
  taskId: string;

  @Column({ name: 'held_at', type: 'timestamptz' })
  heldAt: Date;

  @Column({ type: 'integer' })
  attempts: number;

  @Column({ name: 'next_attempt_at', type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ name: 'waits_since', type: 'timestamptz', nullable: true })
  waitsSince?: Date | null;

  @Column({ name: 'last_error', type: 'text' })
  lastError: string;

  @Column({ type: 'json' })
  document: StatusUpdate;
}
