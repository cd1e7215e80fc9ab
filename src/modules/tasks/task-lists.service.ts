import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestCleanupType, TaskCleanupType } from '../../core/model/enums.js';
import type { KilledTaskIdRecord, Task, TaskCleanup, TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import { Machines } from '../slaves/machines.service.js';
import { ActiveTasks } from './active-tasks.service.js';
import { LiveTasks } from './live-tasks.service.js';
import { launchedTask, launchedTaskColumns, launchedTaskTables, type LaunchedTaskRow } from './launched-tasks.js';
import { TaskCleanups } from './task-cleanups.service.js';

interface KilledRow {
  task_id: string;
  killed_at: Date;
  first_killed_at: Date;
  request_cleanup_type: RequestCleanupType | null;
  task_cleanup_type: TaskCleanupType | null;
  retries: number;
}

/** Lists of active tasks, in the order of task ids. */
@Injectable()
export class TaskLists {
  constructor(
    private readonly db: Database,
    private readonly all: ActiveTasks,
    private readonly tasks: LiveTasks,
    private readonly orders: TaskCleanups,
    private readonly machines: Machines,
  ) {}

  async active(slaveId?: string): Promise<Task[]> {
    if (slaveId === undefined) return this.all.records();
    await this.requireSlave(slaveId);
    const found = await rows<LaunchedTaskRow>(
      this.db.manager,
      `SELECT ${launchedTaskColumns} FROM ${launchedTaskTables}
       WHERE t.ended_at IS NULL AND t.slave_id = $1 ORDER BY t.task_id`,
      [slaveId],
    );
    return found.map(launchedTask);
  }

  async activeIds(slaveId?: string): Promise<TaskId[]> {
    if (slaveId === undefined) return this.all.ids();
    await this.requireSlave(slaveId);
    const found = await this.tasks.find(this.db.manager, { slaveId });
    return found.map((task) => task.taskId);
  }

  /** By task id, each task's updates from the oldest to the newest. */
  activeStates(): Promise<Record<string, TaskHistoryUpdate[]>> {
    return this.db.snapshot(async (tx) => {
      const ids = (await this.tasks.find(tx)).map((task) => task.taskId);
      return Object.fromEntries(await this.tasks.updates(tx, ids));
    });
  }

  /** Tasks that have to go; of one task when an id is given. */
  cleanups(tx: EntityManager = this.db.manager, taskId?: string): Promise<TaskCleanup[]> {
    return this.orders.ofActiveTasks(tx, taskId);
  }

  /** Tasks whose kill was sent, and whose end has not been reported yet. */
  async killed(): Promise<KilledTaskIdRecord[]> {
    const found = await rows<KilledRow>(
      this.db.manager,
      'SELECT k.* FROM killed_task k JOIN task t USING (task_id) WHERE t.ended_at IS NULL ORDER BY task_id',
    );
    return found.map((row) => ({
      taskId: parseTaskId(row.task_id)!,
      timestamp: row.killed_at.getTime(),
      originalTimestamp: row.first_killed_at.getTime(),
      requestCleanupType: row.request_cleanup_type ?? undefined,
      taskCleanupType: row.task_cleanup_type ?? undefined,
      retries: row.retries,
    }));
  }

  private async requireSlave(slaveId: string): Promise<void> {
    const [slave] = await this.machines.find(this.db.manager, { id: slaveId });
    if (!slave) throw new SchedulerError('MACHINE_NOT_FOUND', `No slave with id '${slaveId}'`);
  }
}
