import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A wish that one task be compared with what its machine says. */
@Entity('reconciliation_wish')
export class ReconciliationWishEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'reconciliation_wish_pkey' })
  taskId: string;

  @Column({ name: 'asked_at', type: 'timestamptz' })
  askedAt: Date;
}
