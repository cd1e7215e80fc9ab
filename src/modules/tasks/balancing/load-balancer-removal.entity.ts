import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A task that has to leave the load balancer: it has ended, or is killed as soon as it has left. */
@Index('load_balancer_removal_by_request', ['requestId'])
@Entity('load_balancer_removal')
export class LoadBalancerRemovalEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'load_balancer_removal_pkey' })
  taskId: string;

  @Column({ name: 'request_id', type: 'text' })
  requestId: string;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
