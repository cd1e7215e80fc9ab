import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The first call with an Idempotency-Key, and what came of it. */
@Index('idempotent_call_by_time', ['begunAt'])
@Entity('idempotent_call')
export class IdempotentCallEntity {
  /** A digest of caller, method, path and key. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotent_call_pkey' })
  scope: string;

  /** A digest of query and body. */
  @Column({ type: 'text' })
  fingerprint: string;

  /** Id of the call that does the work, among those that came at once. */
  @Column({ type: 'text' })
  claim: string;

  @Column({ name: 'instance_id', type: 'text' })
  instanceId: string;

  @Column({ name: 'begun_at', type: 'timestamptz' })
  begunAt: Date;

  /** Committed together with what it changed; null: it has changed nothing. */
  @Column({ name: 'acted_at', type: 'timestamptz', nullable: true })
  actedAt: Date | null;

  /** Status of its answer; null: there is none yet, or it was lost. */
  @Column({ type: 'integer', nullable: true })
  status: number | null;

  @Column({ name: 'content_type', type: 'text', nullable: true })
  contentType: string | null;

  @Column({ type: 'text', nullable: true })
  body: string | null;
}
