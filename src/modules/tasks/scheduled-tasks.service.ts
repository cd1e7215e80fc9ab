import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { PendingTask, PendingTaskId, TaskRequest } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../platform/database/keyset.js';
import { SchedulerError } from '../../platform/errors.js';
import { Wake } from '../../platform/wake/wake.js';
import { Access } from '../auth/access/access.service.js';
import { FlowRunRepository } from '../flows/flow-run.repository.js';
import { PendingTaskRepository } from './pending-task.repository.js';

/** Tasks that wait for their time or for a machine. */
@Injectable()
export class ScheduledTasks {
  constructor(
    private readonly db: Database,
    private readonly pending: PendingTaskRepository,
    private readonly wake: Wake,
    private readonly access: Access,
    private readonly flowRuns: FlowRunRepository,
    private readonly clock: Clock,
  ) {}

  /** With the request as it will be when its pending deploy succeeds. Those that cannot run as things stand are left out. */
  list(filter: { requestId?: string; id?: string } = {}): Promise<TaskRequest[]> {
    return this.pending.runnable(this.db.pool, filter);
  }

  /** A page of them, in the order of ids. */
  async page(page: KeysetPage, user: User, requestId?: string): Promise<ListPage<TaskRequest>> {
    const found = await this.pending.runnable(this.db.pool, { requestId }, { page, sight: this.access.sightOf(user) });
    return ListPage.of(found, page.limit, ({ pendingTask }) => pendingTask.pendingTaskId.id);
  }

  ids(): Promise<PendingTaskId[]> {
    return this.pending.ids(this.db.pool);
  }

  async idsPage(page: KeysetPage, user: User): Promise<ListPage<PendingTaskId>> {
    const found = await this.pending.ids(this.db.pool, { page, sight: this.access.sightOf(user) });
    return ListPage.of(found, page.limit, ({ id }) => id);
  }

  async find(id: string): Promise<TaskRequest> {
    const [found] = await this.list({ id });
    if (!found) throw notFound(id);
    return found;
  }

  /** Takes a run of an ON_DEMAND request back before it starts. The scheduler removes the row, unless it launched it first. */
  async remove(id: string): Promise<PendingTask> {
    const removed = await this.db.transaction(async (tx) => {
      const found = await this.pending.lock(tx, id);
      if (!found) throw notFound(id);
      const { task, requestType } = found;
      if (requestType !== 'ON_DEMAND') {
        const message = `Only pending tasks of ON_DEMAND requests can be deleted; '${id}' is of ${requestType ?? 'no'} request`;
        throw new SchedulerError('INVALID_REQUEST', message);
      }
      await this.pending.markUnwanted(tx, id);
      if (task.flowId !== undefined) await this.flowRuns.takeBack(tx, task, this.clock.now());
      return task;
    });
    this.wake.signal('scheduler');
    return removed;
  }
}

const notFound = (id: string): SchedulerError =>
  new SchedulerError('PENDING_TASK_NOT_FOUND', `No pending task with id '${id}'`);
