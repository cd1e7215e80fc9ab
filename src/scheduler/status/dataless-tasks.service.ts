import { Injectable, Logger } from '@nestjs/common';
import { isAlwaysRunning, isTerminal } from '../../core/model/enums.js';
import { parseTaskId } from '../../core/task-id.js';
import { Rows } from '../../rows.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Report } from './report.js';

/**
 * Tasks whose launch document is gone, which only a hand in the database can bring about. Row and document are written
 * and removed together, so there is no other copy to mend them from: what such a task was for is not known any more.
 */
@Injectable()
export class DatalessTasks {
  private readonly log = new Logger(DatalessTasks.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly clock: Clock,
  ) {}

  /** Takes it out of the live tables and has its request looked at. One that is alive has to be killed: KILL. */
  async settle({ taskId, state }: Report): Promise<'KILL' | 'NOTHING_TO_DO'> {
    const parsed = parseTaskId(taskId);
    if (!parsed) return 'NOTHING_TO_DO';
    const { requestId, deployId } = parsed;
    const removed = await this.db.leaderTransaction(async (tx) => {
      const request = await this.rows.requests.lock(tx, requestId);
      const task = (await this.rows.taskStatuses.lockTasks(tx, [taskId])).get(taskId);
      if (!task || task.hasData) return false;
      await this.rows.tasks.removeLive(tx, [taskId]);
      // A job that is not repeated may have done its work: it is not started once more.
      if (request && isAlwaysRunning(request.request.requestType)) {
        const timestamp = this.clock.now();
        await this.rows.pendingRequests.enqueue(tx, { requestId, deployId, timestamp, pendingType: 'TASK_DONE' });
      }
      return true;
    });
    if (!removed) return 'NOTHING_TO_DO';
    this.log.error(`The launch document of task '${taskId}' is missing. It is ${state} and is not followed any more`);
    return isTerminal(state) ? 'NOTHING_TO_DO' : 'KILL';
  }
}
