import { Injectable, Logger } from '@nestjs/common';
import { isAlwaysRunning, isTerminal } from '../../core/model/enums.js';
import { parseTaskId } from '../../core/task-id.js';
import { RequestRepository } from '../../modules/requests/request.repository.js';
import { PendingRequestRepository } from '../../modules/tasks/pending-request.repository.js';
import { TaskRepository } from '../../modules/tasks/task.repository.js';
import { TaskStatusRepository } from '../../modules/tasks/task-status.repository.js';
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
    private readonly requests: RequestRepository,
    private readonly tasks: TaskRepository,
    private readonly statuses: TaskStatusRepository,
    private readonly queue: PendingRequestRepository,
    private readonly clock: Clock,
  ) {}

  /** Takes it out of the live tables and has its request looked at. One that is alive has to be killed: KILL. */
  async settle({ taskId, state }: Report): Promise<'KILL' | 'NOTHING_TO_DO'> {
    const parsed = parseTaskId(taskId);
    if (!parsed) return 'NOTHING_TO_DO';
    const { requestId, deployId } = parsed;
    const removed = await this.db.leaderTransaction(async (tx) => {
      const request = await this.requests.lock(tx, requestId);
      const task = (await this.statuses.lockTasks(tx, [taskId])).get(taskId);
      if (!task || task.hasData) return false;
      await this.tasks.removeLive(tx, [taskId]);
      // A job that is not repeated may have done its work: it is not started once more.
      if (request && isAlwaysRunning(request.request.requestType)) {
        const timestamp = this.clock.now();
        await this.queue.enqueue(tx, { requestId, deployId, timestamp, pendingType: 'TASK_DONE' });
      }
      return true;
    });
    if (!removed) return 'NOTHING_TO_DO';
    this.log.error(`The launch document of task '${taskId}' is missing. It is ${state} and is not followed any more`);
    return isTerminal(state) ? 'NOTHING_TO_DO' : 'KILL';
  }
}
