import { Injectable } from '@nestjs/common';
import type { Past } from '../../core/authorization/index.js';
import type { TaskHistory, TaskIdHistory } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';
import { TaskHistoryRepository } from './task-history.repository.js';
import { TaskSearchRepository, type TaskSearch } from './task-search.repository.js';

const recentArguments = 5;

/** Tasks as the history endpoints show them. */
@Injectable()
export class TaskHistories {
  constructor(
    private readonly db: Database,
    private readonly tasks: TaskHistoryRepository,
    private readonly searches: TaskSearchRepository,
  ) {}

  async find(taskId: string): Promise<TaskHistory> {
    const record = await this.tasks.find(this.db.manager, taskId);
    if (!record) throw SchedulerError.taskNotFound(taskId);
    return record.history;
  }

  search(search: TaskSearch, choice: PageChoice, past: Past): Promise<TaskIdHistory[]> {
    return this.searches.find(this.db.manager, within(search, past), pageBounds(choice));
  }

  page(wish: TaskSearch, choice: PageChoice, past: Past): Promise<Page<TaskIdHistory>> {
    const search = within(wish, past);
    return this.db.snapshot(async (tx) => {
      const count = await this.searches.count(tx, search);
      return toPage(choice, count, await this.searches.find(tx, search, pageBounds(choice)));
    });
  }

  active(requestId: string, deployId?: string): Promise<TaskIdHistory[]> {
    return this.searches.active(this.db.manager, requestId, deployId);
  }

  async ofRun(requestId: string, runId: string, past: Past): Promise<TaskIdHistory> {
    const found = await this.searches.newestOfRun(this.db.manager, requestId, runId, past);
    if (!found) throw new SchedulerError('RUN_NOT_FOUND', `Request '${requestId}' has no task of the run '${runId}'`);
    return found;
  }

  commandLineArguments(
    requestId: string,
    past: Past,
    count = recentArguments,
    historyOnly = true,
  ): Promise<string[][]> {
    return this.searches.commandLineArguments(this.db.manager, requestId, { count, historyOnly, past });
  }
}

/** A task belongs to the time that it began in. */
function within(search: TaskSearch, { after, before }: Past): TaskSearch {
  const { startedAfter, startedBefore } = search;
  const bounds = (...given: (number | undefined)[]): number[] => given.filter((bound) => bound !== undefined);
  const from = bounds(startedAfter, after);
  const to = bounds(startedBefore, before);
  return {
    ...search,
    startedAfter: from.length > 0 ? Math.max(...from) : undefined,
    startedBefore: to.length > 0 ? Math.min(...to) : undefined,
  };
}
