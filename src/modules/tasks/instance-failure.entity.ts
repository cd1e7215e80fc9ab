import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Failures in a row of one instance of a deploy whose request has a policy for restarts. */
@Check('instance_failure_count_check', '"count" > 0')
@Entity('instance_failure')
export class InstanceFailureEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'instance_failure_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'instance_failure_pkey' })
  deployId: string;

  @PrimaryColumn({ name: 'instance_no', type: 'integer', primaryKeyConstraintName: 'instance_failure_pkey' })
  instanceNo: number;

  @Column({ type: 'integer' })
  count: number;

  @Column({ name: 'last_at', type: 'timestamptz' })
  lastAt: Date;
}
