import { Inject, Injectable } from '@nestjs/common';
import type { TimeRange } from '../../core/authorization/index.js';
import type { TaskState } from '../../core/model/enums.js';
import type { RunKey, RunTrigger, TaskHistory, TaskIdHistory } from '../../core/model/task.js';
import { parseTaskId, sanitize } from '../../core/task-id.js';
import { plannedEachTime } from '../../platform/database/sql.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, timeTests } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { updateOrderSql } from '../tasks/task.repository.js';
import { oldDocument } from './old-payloads.js';
import type { PageBounds } from './paging.js';

/** All given filters must hold. Times are exclusive bounds in epoch milliseconds. */
interface TaskFilter {
  requestId?: string;
  deployId?: string;
  runId?: string;
  /** Host name, sanitized or not. */
  host?: string;
  lastTaskStatus?: TaskState;
  startedBefore?: number;
  startedAfter?: number;
  updatedBefore?: number;
  updatedAfter?: number;
}

export interface TaskSearch extends TaskFilter {
  orderDirection?: 'ASC' | 'DESC';
  /** Only tasks whose row has moved to the history; else also ended ones that are live still. */
  historyOnly: boolean;
}

type PageOrder = Pick<TaskSearch, 'historyOnly' | 'orderDirection'>;

/** The first page of the ended tasks of a request. */
export interface FirstPage extends PageOrder {
  count: number;
}

/** Time of a live task's newest update: t is its row of task. */
export const newestUpdateSql = `coalesce((SELECT max(u.at) FROM task_update u WHERE u.task_id = t.task_id), t.started_at)`;

/** State of a live task's newest update, TASK_CLEANING included: t is its row of task. */
export const newestStateSql = `coalesce((SELECT u.state FROM task_update u WHERE u.task_id = t.task_id
  ORDER BY ${updateOrderSql('u', 'DESC')} LIMIT 1), t.state)`;

interface TaskIdRow {
  task_id: string;
  updated_at: Date;
  run_id: string | null;
  state: TaskState | null;
}

interface TaskRunRow extends TaskIdRow {
  trigger: RunTrigger | null;
  attempt: number | null;
  flowId: string | null;
}

/** SQL: the origin of the run of a task in rows `of`, from its document, which is read for tasks of runs alone. */
const withOriginSql = (
  of: string,
): string => `LEFT JOIN LATERAL jsonb_to_record(CASE WHEN ${of}.run_id IS NOT NULL THEN coalesce(
    (SELECT data->'task'->'taskRequest'->'pendingTask' FROM task_history h WHERE h.task_id = ${of}.task_id),
    (SELECT (document->'pendingTask')::jsonb FROM task_launch l WHERE l.task_id = ${of}.task_id)) END)
  AS origin (trigger text, attempt integer, "flowId" text) ON true`;

/**
 * Lists of tasks. Active tasks are in the active lists only, ended ones in the searches only. By hand: a search joins the
 * tiers, each cut to what a page needs, and page and count are answered from indexes, whatever filters are combined.
 */
@Injectable()
export class TaskSearchRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  async find(tx: Queryable, search: TaskSearch, bounds: PageBounds): Promise<TaskIdHistory[]> {
    const { sql, parameters } = pageSql(search, bounds);
    return (await rows<TaskIdRow>(tx, sql, parameters)).map(fromRow);
  }

  /** The same, with the origins of runs. */
  async findRuns(tx: Queryable, search: TaskSearch, bounds: PageBounds): Promise<TaskIdHistory[]> {
    const { filters, parameters } = filtersOf(search);
    const page = pageQuery(filters, search, bounds);
    const sql = `${planning(filters)}SELECT page.*, origin.* FROM (${page}) AS page ${withOriginSql('page')}
      ORDER BY ${pageOrder(search)}`;
    return (await rows<TaskRunRow>(tx, sql, parameters)).map(fromRunRow);
  }

  /** The first pages of searches that differ in the request only, by request, as JSON (`tasksOf`). */
  async findFirst(tx: Queryable, requestIds: readonly string[], page: FirstPage): Promise<Map<string, string>> {
    const query = pageQuery({ requestId: 'asked.id' }, page, { count: page.count, offset: 0 });
    const found = await rows<{ id: string; json: string }>(
      tx,
      `SELECT asked.id, (SELECT coalesce(json_agg(json_build_array(task_id, updated_at, run_id, state)), '[]')::text
         FROM (${query}) AS page) AS json
       FROM unnest($1::text[]) AS asked (id)`,
      [requestIds],
    );
    return new Map(found.map(({ id, json }) => [id, json]));
  }

  async count(tx: Transaction, search: TaskSearch): Promise<number> {
    const { sql, parameters } = countSql(search);
    const [found] = await rows<{ count: string }>(tx, sql, parameters);
    return Number(found!.count);
  }

  /** Tasks that have not ended, newest update first, with the origins of their runs. */
  async active(tx: Queryable, requestId: string, deployId?: string): Promise<TaskIdHistory[]> {
    const found = await rows<TaskRunRow>(
      tx,
      `SELECT t.task_id, ${newestUpdateSql} AS updated_at, t.run_id, ${newestStateSql} AS state, origin.*
       FROM task t ${withOriginSql('t')}
       WHERE t.ended_at IS NULL AND t.request_id = $1 AND ($2::text IS NULL OR t.deploy_id = $2)
       ORDER BY updated_at DESC, t.task_id`,
      [requestId, deployId ?? null],
    );
    return found.map(fromRunRow);
  }

  /** The newest task of a run, active or ended. */
  async newestOfRun(
    tx: Queryable,
    { requestId, runId, askedAt }: RunKey,
    past: TimeRange,
  ): Promise<TaskIdHistory | undefined> {
    const parameters: unknown[] = [requestId, runId, askedAt ?? null];
    // Few tasks have one run id, so the documents of those are read.
    const isAsked = (task: string) => `($3::bigint IS NULL OR (${task}->'pendingTask'->>'askedAt')::bigint = $3)`;
    const found = await rows<TaskIdRow>(
      tx,
      `SELECT task_id, updated_at, run_id, state FROM (
         SELECT t.task_id, t.started_at, ${newestUpdateSql} AS updated_at, t.run_id, ${newestStateSql} AS state
         FROM task t WHERE t.request_id = $1 AND t.run_id = $2
           AND ${isAsked('(SELECT document FROM task_launch l WHERE l.task_id = t.task_id)')}
         UNION ALL SELECT task_id, started_at, updated_at, run_id, last_task_status FROM task_history
         WHERE request_id = $1 AND run_id = $2 AND ${isAsked(`data->'task'->'taskRequest'`)}) AS found
       WHERE true${timeTests('started_at', past, parameters)} ORDER BY started_at DESC, task_id LIMIT 1`,
      parameters,
    );
    return found.map(fromRow)[0];
  }

  /** Distinct argument lists, not empty, of the newest `count` ended tasks of a request; the newest first. */
  async commandLineArguments(
    tx: Queryable,
    requestId: string,
    { count, historyOnly, past }: { count: number; historyOnly: boolean; past: TimeRange },
  ): Promise<string[][]> {
    const parameters: unknown[] = [requestId, count];
    const path = `->'taskRequest'->'pendingTask'->'cmdLineArgsList'`;
    const live =
      () => `UNION ALL SELECT t.task_id, ${newestUpdateSql}, (l.document->'pendingTask'->'cmdLineArgsList')::jsonb, NULL
      FROM task t JOIN task_launch l USING (task_id) WHERE t.request_id = $1 AND t.ended_at IS NOT NULL${timeTests('t.started_at', past, parameters)}`;
    const found = await rows<{ arguments: string[] | null; bytes: Buffer | null }>(
      tx,
      `SELECT arguments, bytes FROM (
         (SELECT task_id, updated_at, data->'task'${path} AS arguments, CASE WHEN data IS NULL THEN bytes END AS bytes
          FROM task_history WHERE request_id = $1${timeTests('started_at', past, parameters)}
          ORDER BY updated_at DESC, task_id LIMIT $2) ${historyOnly ? '' : live()}
       ) AS tasks ORDER BY updated_at DESC, task_id LIMIT $2`,
      parameters,
    );
    const lists = found.map((row) => row.arguments ?? this.oldArguments(row.bytes));
    const given = lists.filter((list) => Array.isArray(list) && list.length > 0) as string[][];
    return [...new Map(given.map((list) => [JSON.stringify(list), list])).values()];
  }

  private oldArguments(bytes: Buffer | null): string[] | undefined {
    const old = oldDocument<TaskHistory>(this.settings, 'TASK', bytes);
    return old?.task.taskRequest?.pendingTask?.cmdLineArgsList;
  }
}

/** The tasks of a page that was read as JSON. */
export const tasksOf = (json: string): TaskIdHistory[] =>
  (JSON.parse(json) as [string, string, string | null, TaskState | null][]).map(([task_id, at, run_id, state]) =>
    fromRow({ task_id, updated_at: new Date(at), run_id, state }),
  );

const fromRow = (row: TaskIdRow): TaskIdHistory => ({
  // What stands in these tables was made by makeTaskId and reads back.
  taskId: parseTaskId(row.task_id)!,
  updatedAt: row.updated_at.getTime(),
  runId: row.run_id ?? undefined,
  lastTaskState: row.state ?? undefined,
});

const fromRunRow = ({ trigger, attempt, flowId, ...row }: TaskRunRow): TaskIdHistory => ({
  ...fromRow(row),
  ...(trigger !== null && { trigger }),
  ...(attempt !== null && { attempt }),
  ...(flowId !== null && { flowId }),
});

interface Statement {
  sql: string;
  parameters: unknown[];
}

/** Ended tasks whose rows are live still, in the columns of the history. */
const endedLiveTasks = `(SELECT t.task_id, t.request_id, t.deploy_id, t.run_id, replace(t.host, '-', '_') AS host, t.started_at,
    ${newestUpdateSql} AS updated_at, t.state AS last_task_status
  FROM task t WHERE t.ended_at IS NOT NULL) AS live`;

const testOf: Readonly<Record<keyof TaskFilter, string>> = {
  requestId: 'request_id =',
  deployId: 'deploy_id =',
  runId: 'run_id =',
  host: 'host =',
  lastTaskStatus: 'last_task_status =',
  startedBefore: 'started_at <',
  startedAfter: 'started_at >',
  updatedBefore: 'updated_at <',
  updatedAfter: 'updated_at >',
};

/** Tasks that ran longer have an index of their own. The words are those of the index. */
const longTask = `updated_at - started_at > '01:00:00'::interval`;
const shortTask = `updated_at - started_at <= '01:00:00'::interval`;

/** One page of TaskIdHistory rows. */
function pageSql(search: TaskSearch, bounds: PageBounds): Statement {
  const { filters, parameters } = filtersOf(search);
  return { sql: planning(filters) + pageQuery(filters, search, bounds), parameters };
}

const pageOrder = ({ orderDirection = 'DESC' }: Pick<PageOrder, 'orderDirection'>): string =>
  `updated_at ${orderDirection}, request_id, task_id`;

function pageQuery(
  filters: Filters,
  { orderDirection, historyOnly }: PageOrder,
  { count, offset }: PageBounds,
): string {
  const order = pageOrder({ orderDirection });
  const { startedAfter } = filters;
  // What began after a moment ended after it, and along the ends there are indexes.
  const tests = [...testsOf(filters), ...(startedAfter ? [`updated_at > ${startedAfter}`] : [])];
  // Each part is cut before they are joined, so that those of the history are walks along an index.
  const cut = (source: string, all: string[]): string =>
    `(SELECT task_id, request_id, updated_at, run_id, last_task_status AS state FROM ${source}
      WHERE ${all.join(' AND ')} ORDER BY ${order} LIMIT ${offset + count})`;
  const parts = historyParts(tests, filters).map((all) => cut('task_history', all));
  if (!historyOnly) parts.push(cut(endedLiveTasks, testsOf(filters)));
  const found = `(${parts.join(' UNION ALL ')}) AS found`;
  return `SELECT * FROM ${found} ORDER BY ${order} LIMIT ${count} OFFSET ${offset}`;
}

/** Counts exactly. */
function countSql(search: TaskSearch): Statement {
  const { filters, parameters } = filtersOf(search);
  const { startedAfter, ...others } = filters;
  const count = (source: string, all: string[]): string =>
    `(SELECT count(*) FROM ${source} WHERE ${all.join(' AND ')})`;
  // Indexes tell the ends: of what ended after the moment is taken away what ran at it.
  const ended = [...testsOf(others), ...(startedAfter ? [`updated_at > ${startedAfter}`] : [])];
  const ran = startedAfter ? ranAt(startedAfter, [...ended, `started_at <= ${startedAfter}`]) : [];
  const counts = [
    ...historyParts(ended, others).map((all) => `+ ${count('task_history', all)}`),
    ...ran.map((all) => `- ${count('task_history', all)}`),
    ...(search.historyOnly ? [] : [`+ ${count(endedLiveTasks, testsOf(filters))}`]),
  ];
  return { sql: `${planning(filters)}SELECT ${counts.join(' ')} AS count`, parameters };
}

/** For one filter there is one index. For several the values decide: a rare status is where to begin. */
const planning = (filters: Filters): string => (Object.keys(filters).length > 1 ? plannedEachTime : '');

/** The filters that are given, each with the place of its value among the parameters. */
type Filters = Partial<Record<keyof TaskFilter, string>>;

function filtersOf(search: TaskSearch): { filters: Filters; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const filters: Filters = {};
  for (const name of Object.keys(testOf) as (keyof TaskFilter)[]) {
    const value = search[name];
    if (value === undefined) continue;
    parameters.push(typeof value === 'number' ? new Date(value) : name === 'host' ? sanitize(value) : value);
    filters[name] = `$${parameters.length}`;
  }
  return { filters, parameters };
}

const testsOf = (filters: Filters): string[] => [
  'true',
  ...Object.entries(filters).map(([name, place]) => `${testOf[name as keyof TaskFilter]} ${place}`),
];

/**
 * The history in parts that have no task in common. What began before a moment is told by the ends as well: all that
 * ended before it, and what ran at it. One search by the start would in the worst case look through all tasks, because
 * pages are in the order of the ends.
 */
function historyParts(tests: string[], { startedBefore }: Filters): string[][] {
  if (!startedBefore) return [tests];
  const others = tests.filter((test) => test !== `${testOf.startedBefore} ${startedBefore}`);
  return [
    [...others, `updated_at < ${startedBefore}`],
    ...ranAt(startedBefore, [...tests, `updated_at >= ${startedBefore}`]),
  ];
}

/**
 * Finds, among the tasks that pass the tests and ended at the moment or later, those that may have run at it, and looks
 * only where they can be.
 */
const ranAt = (moment: string, tests: string[]): string[][] => [
  [...tests, `updated_at <= ${moment}::timestamptz + '01:00:00'::interval`, shortTask],
  [...tests, longTask],
];
