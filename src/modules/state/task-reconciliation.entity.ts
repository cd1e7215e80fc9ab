import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { TaskReconciliationStatistics } from '../../core/model/state.js';

/** Figures of the last comparison of our tasks with those of the machines. */
@Check('task_reconciliation_only_row_check', '"only_row"')
@Entity('task_reconciliation')
export class TaskReconciliationEntity {
  @PrimaryColumn({
    name: 'only_row',
    type: 'boolean',
    default: true,
    primaryKeyConstraintName: 'task_reconciliation_pkey',
  })
  onlyRow: boolean;

  @Column({ type: 'jsonb' })
  document: TaskReconciliationStatistics;
}
