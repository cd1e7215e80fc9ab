import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';

/** A request that was deleted, and whose service has to go from the load balancer. */
@Entity('load_balancer_deletion')
export class LoadBalancerDeletionEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'load_balancer_deletion_pkey' })
  requestId: string;

  @Column({ type: 'text', array: true })
  groups: string[];

  @Column({ name: 'service_base_path', type: 'text', nullable: true })
  serviceBasePath: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'jsonb', nullable: true })
  document: LoadBalancerUpdate | null;
}
