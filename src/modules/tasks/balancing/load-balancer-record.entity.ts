import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { LoadBalancerUpdate } from '../../../core/model/load-balancer.js';

/** The newest of what the load balancer was told about a task: that it comes, or that it goes. */
@Check('load_balancer_record_kind_check', `"kind" IN ('ADD', 'REMOVE')`)
@Entity('load_balancer_record')
export class LoadBalancerRecordEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'load_balancer_record_pkey' })
  taskId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'load_balancer_record_pkey' })
  kind: 'ADD' | 'REMOVE';

  @Column({ name: 'attempts_before', type: 'integer', default: 0 })
  attemptsBefore: number;

  @Column({ type: 'jsonb', nullable: true })
  document: LoadBalancerUpdate | null;
}
