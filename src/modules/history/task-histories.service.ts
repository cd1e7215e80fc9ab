import { Injectable } from '@nestjs/common';
import type { TimeRange } from '../../core/authorization/index.js';
import type { TaskHistory, TaskIdHistory } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { momentOf } from '../../platform/database/moment.js';
import { SchedulerError } from '../../platform/errors.js';
import { BatchedRead } from '../../platform/reads/reads.js';
import { fromJson, type FromJson, VersionedCache } from '../../platform/reads/versioned-cache.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';
import { TaskHistoryRepository } from './task-history.repository.js';
import { type FirstPage, tasksOf, TaskSearchRepository, type TaskSearch } from './task-search.repository.js';

const recentArguments = 5;

/** First pages with at most so many tasks are read together. */
const mostTogether = 100;
/** Characters of pages: those of some thousands of requests, with some ten megabytes of memory for a million. */
const mostKept = 4_000_000;
/** Size of a page beside its text, in characters. */
const besideText = 256;

type TaskPage = FromJson<TaskIdHistory[]>;

/** Tasks as the history endpoints show them. */
@Injectable()
export class TaskHistories {
  /** By what is asked for, as JSON: a page, and the id of the request. */
  private readonly firstPages = new BatchedRead((asked: readonly string[]) => this.readFirst(asked));
  private readonly keptPages = new VersionedCache<TaskPage>(mostKept, ({ json }) => json.length + besideText);

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

  search(search: TaskSearch, choice: PageChoice, past: TimeRange): Promise<TaskIdHistory[]> {
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

  private async readFirst(keys: readonly string[]): Promise<Map<string, TaskIdHistory[]>> {
    const moment = await momentOf(this.db.pool);
    const wanted = new Map(keys.map((key) => [key, moment]));
    const found = await this.keptPages.many(wanted, (formers) => this.loadFirst(formers));
    return new Map([...found].map(([key, { value }]) => [key, value]));
  }

  private async loadFirst(formers: ReadonlyMap<string, TaskPage | undefined>): Promise<Map<string, TaskPage>> {
    const kinds = new Map<string, { page: FirstPage; keys: Map<string, string> }>();
    for (const key of formers.keys()) {
      const [page, requestId] = JSON.parse(key) as [FirstPage, string];
      const name = JSON.stringify(page);
      const kind = kinds.get(name) ?? { page, keys: new Map<string, string>() };
      kinds.set(name, kind);
      kind.keys.set(requestId, key);
    }
    const read = [...kinds.values()].map(async ({ page, keys }) => {
      const found = await this.searches.findFirst(this.db.pool, [...keys.keys()], page);
      return [...found].map(([requestId, json]): [string, TaskPage] => {
        const key = keys.get(requestId)!;
        return [key, fromJson(json, formers.get(key), tasksOf)];
      });
    });
    return new Map((await Promise.all(read)).flat());
  }

  page(wish: TaskSearch, choice: PageChoice, past: TimeRange): Promise<Page<TaskIdHistory>> {
    const search = within(wish, past);
    return this.db.snapshot(async (tx) => {
      const count = await this.searches.count(tx, search);
      return toPage(choice, count, await this.searches.findRuns(tx, search, pageBounds(choice)));
    });
  }

  active(requestId: string, deployId?: string): Promise<TaskIdHistory[]> {
    return this.searches.active(this.db.pool, requestId, deployId);
  }

  async ofRun(requestId: string, runId: string, past: TimeRange): Promise<TaskIdHistory> {
    const found = await this.searches.newestOfRun(this.db.pool, { requestId, runId }, past);
    if (!found) throw new SchedulerError('RUN_NOT_FOUND', `Request '${requestId}' has no task of the run '${runId}'`);
    return found;
  }

  commandLineArguments(
    requestId: string,
    past: TimeRange,
    count = recentArguments,
    historyOnly = true,
  ): Promise<string[][]> {
    return this.searches.commandLineArguments(this.db.pool, requestId, { count, historyOnly, past });
  }
}

/** A task belongs to the time that it began in. */
function within(search: TaskSearch, { after, before }: TimeRange): TaskSearch {
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
