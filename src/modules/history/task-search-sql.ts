import type { TaskState } from '../../core/model/enums.js';
import { sanitize } from '../../core/task-id.js';
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
  const { parts, parameters } = partsOf(search);
  // Each part is cut before they are joined, so that those of the history are walks along an index.
  const cut = parts.map(
    ({ source, tests }) => `(SELECT task_id, request_id, updated_at, run_id, last_task_status AS state FROM ${source}
      WHERE ${tests.join(' AND ')} ORDER BY ${order} LIMIT ${offset + count})`,
  );
  const found = `(${cut.join(' UNION ALL ')}) AS found`;
  return { sql: `SELECT * FROM ${found} ORDER BY ${order} LIMIT ${count} OFFSET ${offset}`, parameters };
}

/** How many there are, exactly. */
export function countSql(search: TaskSearch): Statement {
  const { parts, parameters } = partsOf(search);
  const counts = parts.map(({ source, tests }) => `(SELECT count(*) FROM ${source} WHERE ${tests.join(' AND ')})`);
  return { sql: `SELECT ${counts.join(' + ')} AS count`, parameters };
}

/** Rows of one source that pass all tests. */
interface Part {
  source: string;
  tests: string[];
}

/** What is searched. No task is in two parts. */
function partsOf(search: TaskSearch): { parts: Part[]; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const tests = new Map<keyof TaskFilter, string>();
  const places = new Map<keyof TaskFilter, string>();
  for (const name of Object.keys(testOf) as (keyof TaskFilter)[]) {
    const value = search[name];
    if (value === undefined) continue;
    parameters.push(typeof value === 'number' ? toDate(value) : name === 'host' ? sanitize(value) : value);
    places.set(name, `$${parameters.length}`);
    tests.set(name, `${testOf[name]} ${places.get(name)}`);
  }
  const all = ['true', ...tests.values()];
  const live = search.historyOnly ? [] : [{ source: endedLiveTasks, tests: all }];
  const startedAfter = places.get('startedAfter');
  // What began after a moment ended after it, and along the ends there are indexes.
  const endedAfter = startedAfter ? [`updated_at > ${startedAfter}`] : [];
  const startedBefore = places.get('startedBefore');
  const history = startedBefore
    ? partsStartedBefore(startedBefore, [...all, ...endedAfter], tests.get('startedBefore')!)
    : [[...all, ...endedAfter]];
  return { parts: [...history.map((of) => ({ source: 'task_history', tests: of })), ...live], parameters };
}

/**
 * What began before a moment, told by the ends: all that ended before it, and what ran at that moment. The latter is
 * sought where it can be only: short tasks within the next hour, long ones in their own index. One search by the start
 * would in the worst case look through all tasks, because pages are in the order of the ends.
 */
function partsStartedBefore(moment: string, tests: string[], startedBefore: string): string[][] {
  const others = tests.filter((test) => test !== startedBefore);
  return [
    [...others, `updated_at < ${moment}`],
    [...tests, `updated_at >= ${moment}`, `updated_at < ${moment}::timestamptz + '01:00:00'::interval`, shortTask],
    [...tests, `updated_at >= ${moment}`, longTask],
  ];
}

/** The greatest time that a Date can hold. */
const farthest = 8_640_000_000_000_000;
const toDate = (millis: number): Date => new Date(Math.min(millis, farthest));
