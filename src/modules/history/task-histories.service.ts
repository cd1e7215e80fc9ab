import { Injectable } from '@nestjs/common';
import type { Past } from '../../core/authorization/index.js';
import type { TaskHistory, TaskIdHistory } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import type { AskedSince } from '../../platform/database/moment.js';
import { SchedulerError } from '../../platform/errors.js';
import { BatchedRead, KeptDocuments } from '../../platform/reads/reads.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';
import { TaskHistoryRepository } from './task-history.repository.js';
import { type FirstPage, tasksOf, TaskSearchRepository, type TaskSearch } from './task-search.repository.js';

const recentArguments = 5;

/** First pages with at most so many tasks are read together. */
const mostTogether = 100;
/** Characters of pages: those of some thousands of requests, with some ten megabytes of memory for a million. */
const mostKept = 4_000_000;

/** Tasks as the history endpoints show them. */
@Injectable()
export class TaskHistories {
  /** By what is asked for, as JSON: a page, and the id of the request. */
  private readonly firstPages = new BatchedRead((asked: readonly string[]) => this.readFirst(asked));
  private readonly keptPages = new KeptDocuments<TaskIdHistory[]>(mostKept, tasksOf);

  constructor(
    private readonly db: Database,
    private readonly tasks: TaskHistoryRepository,
    private readonly searches: TaskSearchRepository,
  ) {}

  async find(taskId: string): Promise<TaskHistory> {
    const record = await this.tasks.find(this.db.pool, taskId);
    if (!record) throw SchedulerError.taskNotFound(taskId);
    return record.history;
  }

  search(search: TaskSearch, choice: PageChoice, past: Past): Promise<TaskIdHistory[]> {
    const wanted = within(search, past);
    const bounds = pageBounds(choice);
    const { requestId, historyOnly, orderDirection, ...filters } = wanted;
    const isWhole = Object.values(filters).every((filter) => filter === undefined);
    if (requestId === undefined || !isWhole || bounds.offset > 0 || bounds.count > mostTogether) {
      return this.searches.find(this.db.pool, wanted, bounds);
    }
    const page: FirstPage = { historyOnly, orderDirection, count: bounds.count };
    return this.firstPages.ask(JSON.stringify([page, requestId])).then((found) => found!);
  }

  private readFirst(keys: readonly string[]): Promise<Map<string, TaskIdHistory[]>> {
    return this.keptPages.find(keys, async (asked) => {
      const kinds = new Map<string, { page: FirstPage; keys: Map<string, string>; asked: AskedSince[] }>();
      for (const { id: key, since } of asked) {
        const [page, requestId] = JSON.parse(key) as [FirstPage, string];
        const name = JSON.stringify(page);
        const kind = kinds.get(name) ?? { page, keys: new Map<string, string>(), asked: [] as AskedSince[] };
        kinds.set(name, kind);
        kind.keys.set(requestId, key);
        kind.asked.push({ id: requestId, since });
      }
      const read = [...kinds.values()].map(async ({ page, keys, asked: ofKind }) => {
        const found = await this.searches.findFirst(this.db.pool, ofKind, page);
        return found.map((document) => ({ ...document, id: keys.get(document.id)! }));
      });
      return (await Promise.all(read)).flat();
    });
  }

  page(wish: TaskSearch, choice: PageChoice, past: Past): Promise<Page<TaskIdHistory>> {
    const search = within(wish, past);
    return this.db.snapshot(async (tx) => {
      const count = await this.searches.count(tx, search);
      return toPage(choice, count, await this.searches.find(tx, search, pageBounds(choice)));
    });
  }

  active(requestId: string, deployId?: string): Promise<TaskIdHistory[]> {
    return this.searches.active(this.db.pool, requestId, deployId);
  }

  async ofRun(requestId: string, runId: string, past: Past): Promise<TaskIdHistory> {
    const found = await this.searches.newestOfRun(this.db.pool, { requestId, runId }, past);
    if (!found) throw new SchedulerError('RUN_NOT_FOUND', `Request '${requestId}' has no task of the run '${runId}'`);
    return found;
  }

  commandLineArguments(
    requestId: string,
    past: Past,
    count = recentArguments,
    historyOnly = true,
  ): Promise<string[][]> {
    return this.searches.commandLineArguments(this.db.pool, requestId, { count, historyOnly, past });
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
