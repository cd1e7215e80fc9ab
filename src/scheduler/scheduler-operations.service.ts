import { Injectable } from '@nestjs/common';
import type { TaskState } from '../core/model/enums.js';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { rows } from '../platform/database/sql.js';
import { Reconciliation, type ReconciliationStart } from './reconciliation/reconciliation.service.js';
import { StatusUpdates } from './status/status-updates.service.js';

/** What can be brought about in the scheduler by hand, on the leader, to test what follows. */
@Injectable()
export class SchedulerOperations {
  constructor(
    private readonly db: Database,
    private readonly status: StatusUpdates,
    private readonly reconciliation: Reconciliation,
    private readonly clock: Clock,
  ) {}

  /** Has the scheduler believe that a live task is in this state; its machine is told nothing. false: no such task. */
  async forceStatus(taskId: string, state: TaskState): Promise<boolean> {
    const [task] = await this.db.leaderTransaction((tx) =>
      rows<{ slave_id: string }>(tx, 'SELECT slave_id FROM task WHERE task_id = $1', [taskId]),
    );
    if (!task) return false;
    const how = { timestamp: this.clock.now(), message: 'Reported by hand' };
    await this.status.concluded([{ taskId, slaveId: task.slave_id, state, ...how }]);
    return true;
  }

  /** Compares all tasks with what the machines hold, beside the regular comparisons. */
  startReconciliation(): Promise<ReconciliationStart> {
    return this.reconciliation.start();
  }
}
