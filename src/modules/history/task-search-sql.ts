import type { TaskState } from '../../core/model/enums.js';
import { sanitize } from '../../core/task-id.js';
import { plannedEachTime } from '../../platform/database/statement-names.js';
import type { PageBounds } from './paging.js';
import { newestUpdateSql } from './task-history-sql.js';

/** All given filters must hold. Times are exclusive bounds in epoch milliseconds. */
export interface TaskFilter {
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

export interface Statement {
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
export function pageSql(search: TaskSearch, { count, offset }: PageBounds): Statement {
  const direction = search.orderDirection ?? 'DESC';
  const order = `updated_at ${direction}, request_id, task_id`;
  const { filters, parameters } = filtersOf(search);
  const { startedAfter } = filters;
  // What began after a moment ended after it, and along the ends there are indexes.
  const tests = [...testsOf(filters), ...(startedAfter ? [`updated_at > ${startedAfter}`] : [])];
  // Each part is cut before they are joined, so that those of the history are walks along an index.
  const cut = (source: string, all: string[]): string =>
    `(SELECT task_id, request_id, updated_at, run_id, last_task_status AS state FROM ${source}
      WHERE ${all.join(' AND ')} ORDER BY ${order} LIMIT ${offset + count})`;
  const parts = historyParts(tests, filters).map((all) => cut('task_history', all));
  if (!search.historyOnly) parts.push(cut(endedLiveTasks, testsOf(filters)));
  const found = `(${parts.join(' UNION ALL ')}) AS found`;
  return {
    sql: `${planning(filters)}SELECT * FROM ${found} ORDER BY ${order} LIMIT ${count} OFFSET ${offset}`,
    parameters,
  };
}

/** How many there are, exactly. */
export function countSql(search: TaskSearch): Statement {
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

/** For one filter there is one index. For several the values decide: who asks for a rare status wants to begin with that. */
const planning = (filters: Filters): string => (Object.keys(filters).length > 1 ? plannedEachTime : '');

/** The filters that are given, each with the place of its value among the parameters. */
type Filters = Partial<Record<keyof TaskFilter, string>>;

function filtersOf(search: TaskSearch): { filters: Filters; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const filters: Filters = {};
  for (const name of Object.keys(testOf) as (keyof TaskFilter)[]) {
    const value = search[name];
    if (value === undefined) continue;
    parameters.push(typeof value === 'number' ? toDate(value) : name === 'host' ? sanitize(value) : value);
    filters[name] = `$${parameters.length}`;
  }
  return { filters, parameters };
}

/** The greatest time that a Date can hold. */
const farthest = 8_640_000_000_000_000;
const toDate = (millis: number): Date => new Date(Math.min(millis, farthest));

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

/** Of what passes the tests and ended at the moment or later, what may have run at it, sought only where it can be. */
const ranAt = (moment: string, tests: string[]): string[][] => [
  [...tests, `updated_at <= ${moment}::timestamptz + '01:00:00'::interval`, shortTask],
  [...tests, longTask],
];
