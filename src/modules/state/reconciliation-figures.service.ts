import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskReconciliationStatistics } from '../../core/model/state.js';
import { reconciliationStatistics, type ReconciliationRun } from '../../core/reconciliation/index.js';
import { rows } from '../../platform/database/sql.js';

/** How the last comparison of our tasks with those of the machines went. Written by the leader. */
@Injectable()
export class ReconciliationFigures {
  async save(tx: EntityManager, run: ReconciliationRun): Promise<void> {
    await tx.query(
      `INSERT INTO task_reconciliation (document) VALUES ($1)
       ON CONFLICT (only_row) DO UPDATE SET document = excluded.document`,
      [JSON.stringify(reconciliationStatistics(run))],
    );
  }

  async last(tx: EntityManager): Promise<TaskReconciliationStatistics | undefined> {
    const [found] = await rows<{ document: TaskReconciliationStatistics }>(
      tx,
      'SELECT document FROM task_reconciliation',
    );
    return found?.document;
  }
}
