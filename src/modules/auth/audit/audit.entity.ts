import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One call of note: who made it, from where, and what came of it. */
@Check('audit_outcome_check', `"outcome" IN ('ALLOWED', 'REFUSED')`)
@Index('audit_by_time', ['at'])
@Index('audit_by_caller', ['callerId', 'at', 'id'])
@Index('audit_by_request', ['requestId', 'at', 'id'])
@Entity('audit')
export class AuditEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'audit_pkey',
  })
  id: string;

  @Column({ type: 'timestamptz' })
  at: Date;

  /** The id that the answer carries in X-Request-Id, as log lines do. */
  @Column({ name: 'call_id', type: 'text' })
  callId: string;

  /** null: it is not known who called. */
  @Column({ name: 'caller_id', type: 'text', nullable: true })
  callerId: string | null;

  @Column({ name: 'caller_issuer', type: 'text', nullable: true })
  callerIssuer: string | null;

  /** The way that told who called. */
  @Column({ name: 'proven_by', type: 'text', nullable: true })
  provenBy: string | null;

  @Column({ type: 'text' })
  address: string;

  /** Method and route, such as `POST /api/requests/request/:requestId/run`. */
  @Column({ type: 'text' })
  operation: string;

  @Column({ type: 'text' })
  path: string;

  /** The request that the call is about, if it names one. */
  @Column({ name: 'request_id', type: 'text', nullable: true })
  requestId: string | null;

  @Column({ type: 'text' })
  outcome: 'ALLOWED' | 'REFUSED';

  /** null: the caller hung up before there was an answer. */
  @Column({ type: 'integer', nullable: true })
  status: number | null;

  /** Reason of the refusal. */
  @Column({ type: 'text', nullable: true })
  reason: string | null;
}
