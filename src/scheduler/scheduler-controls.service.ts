import { Injectable } from '@nestjs/common';
import type { Epoch } from '../cluster/cluster-driver.js';
import { isTerminal, type TaskState } from '../core/model/enums.js';
import { TaskRepository } from '../modules/tasks/task.repository.js';
import { SchedulerControls } from '../modules/test-operations/test-operations.service.js';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { Leadership, NotLeaderError } from '../platform/leadership/leadership.js';
import { ClusterConnection } from './cluster/cluster-connection.service.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';
import { StatusUpdates } from './status/status-updates.service.js';
import { UnwantedTasks } from './status/unwanted-tasks.service.js';

/** Operations of a test on this scheduler. */
@Injectable()
export class LocalSchedulerControls extends SchedulerControls {
  constructor(
    private readonly db: Database,
    private readonly tasks: TaskRepository,
    private readonly status: StatusUpdates,
    private readonly unwanted: UnwantedTasks,
    private readonly reconciliation: Reconciliation,
    private readonly connection: ClusterConnection,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
  ) {
    super();
  }

  async forceStatus(taskId: string, state: TaskState): Promise<boolean> {
    this.epoch();
    const [task] = await this.tasks.find(this.db.pool, { taskIds: [taskId] });
    if (!task) return false;
    const report = { taskId, slaveId: task.slaveId, timestamp: this.clock.now(), state };
    await this.status.concluded([{ ...report, message: 'Forced by a test operation' }]);
    // Its machine knows nothing of this end, and would run it on beside the task in its place.
    if (isTerminal(state)) this.unwanted.kill([report]);
    return true;
  }

  startReconciliation(): void {
    this.epoch();
    this.reconciliation.request();
  }

  async reconnect(): Promise<void> {
    const epoch = this.epoch();
    await this.connection.stop();
    try {
      await this.connection.start(epoch);
    } catch (cause) {
      this.leadership.stepDown(`the connection to the cluster could not be made again: ${String(cause)}`);
      throw cause;
    }
    // The leadership was lost meanwhile, and with it the order to stop the driver came too early.
    if (this.leadership.current() !== epoch) await this.connection.stop();
    this.reconciliation.request();
  }

  private epoch(): Epoch {
    const epoch = this.leadership.current();
    if (epoch === undefined) throw new NotLeaderError('it holds no lease');
    return epoch;
  }
}
