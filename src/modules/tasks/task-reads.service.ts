import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type TaskStatistics } from '../../cluster/cluster-driver.js';
import type { TaskCounts, TaskIdsByStatus } from '../../core/model/request.js';
import type { Task, TaskCleanup } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import { reachable } from '../sandbox/task-sandboxes.service.js';
import type { LiveTask } from './task.repository.js';
import { TaskIdsByStatusService } from './task-ids-by-status.service.js';
import { TaskLists } from './active-tasks.service.js';

/** Single active tasks, and the tasks of single requests. */
@Injectable()
export class TaskReads {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly lists: TaskLists,
    private readonly byStatus: TaskIdsByStatusService,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  async find(id: string): Promise<Task> {
    const found = await this.rows.launchedTasks.active(this.db.pool, id);
    if (!found) throw SchedulerError.taskNotFound(id);
    return found;
  }

  async cleanup(id: string): Promise<TaskCleanup> {
    const [cleanup] = await this.lists.cleanups(this.db.pool, id);
    if (!cleanup) throw new SchedulerError('NOT_FOUND', `Task '${id}' has no cleanup`);
    return cleanup;
  }

  async statistics(id: string): Promise<Omit<TaskStatistics, 'taskId'> & { cpusLimitExact: number }> {
    const { slaveId } = await this.active(id);
    const measured = await reachable(() => this.driver.statistics(id, slaveId));
    if (!measured) throw new SchedulerError('NOT_FOUND', `Slave '${slaveId}' has no figures for task '${id}'`);
    const { taskId: _asked, ...statistics } = measured;
    // Clients read it as a whole number; a share of a core needs a whole one.
    return { ...statistics, cpusLimit: Math.ceil(statistics.cpusLimit), cpusLimitExact: statistics.cpusLimit };
  }

  async ofRequest(requestId: string): Promise<TaskIdsByStatus> {
    return this.db.snapshot(async (tx) => {
      if (!(await this.rows.requests.find(tx, requestId))) throw SchedulerError.requestNotFound(requestId);
      return (await this.byStatus.forRequests(tx, [requestId])).get(requestId)!;
    });
  }

  /** All zero when there is no such request. */
  async countsOfRequest(requestId: string): Promise<TaskCounts> {
    return { requestId, ...(await this.rows.tasks.countsOf(this.db.pool, requestId)) };
  }

  /** Makes the leader compare the stored state of the task with what its machine says. */
  async reconcile(id: string): Promise<void> {
    await this.active(id);
    await this.db.transaction((tx) => this.rows.reconciliationWishes.add(tx, [id], this.clock.now()));
    this.wake.signal('reconcile');
  }

  private async active(id: string): Promise<LiveTask> {
    const [task] = await this.rows.tasks.find(this.db.pool, { taskIds: [id] });
    if (!task) throw SchedulerError.taskNotFound(id);
    return task;
  }
}
