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
  const { tests, parameters, placeOf } = conditions(search);
  // Each part is cut before they are joined, so that those of the history are walks along an index.
  const part = (source: string, ...further: string[]): string =>
    `(SELECT task_id, request_id, updated_at, run_id, last_task_status AS state FROM ${source}
      WHERE ${[...tests, ...further].join(' AND ')} ORDER BY ${order} LIMIT ${offset + count})`;
  const startedBefore = placeOf('startedBefore');
  const history =
    direction === 'DESC' && startedBefore
      ? // Newest first, everything that began later stands in the way. Short tasks ended soon after they began, so the
        // walk begins an hour after the bound; long ones are few.
        [
          part('task_history', shortTask, `updated_at < ${startedBefore}::timestamptz + '01:00:00'::interval`),
          part('task_history', longTask),
        ]
      : [part('task_history', ...endedAfter(placeOf('startedAfter')))];
  const parts = search.historyOnly ? history : [...history, part(endedLiveTasks)];
  const found = `(${parts.join(' UNION ALL ')}) AS found`;
  return { sql: `SELECT * FROM ${found} ORDER BY ${order} LIMIT ${count} OFFSET ${offset}`, parameters };
}

/** How many there are, exactly. */
export function countSql(search: TaskSearch): Statement {
  const { tests, parameters, placeOf } = conditions(search);
  const part = (source: string, ...further: string[]): string =>
    `(SELECT count(*) FROM ${source} WHERE ${[...tests, ...further].join(' AND ')})`;
  const history = part('task_history', ...endedAfter(placeOf('startedAfter')));
  const parts = search.historyOnly ? [history] : [history, part(endedLiveTasks)];
  return { sql: `SELECT ${parts.join(' + ')} AS count`, parameters };
}

/** What began after a moment ended after it, and along the ends there are indexes. */
const endedAfter = (startedAfter: string | undefined): string[] =>
  startedAfter ? [`updated_at > ${startedAfter}`] : [];

interface Conditions {
  tests: string[];
  parameters: unknown[];
  /** Where the value of a filter stands among the parameters; undefined: it is not given. */
  placeOf(name: keyof TaskFilter): string | undefined;
}

function conditions(filter: TaskFilter): Conditions {
  const parameters: unknown[] = [];
  const places = new Map<keyof TaskFilter, string>();
  for (const name of Object.keys(testOf) as (keyof TaskFilter)[]) {
    const value = filter[name];
    if (value === undefined) continue;
    parameters.push(name === 'host' ? sanitize(String(value)) : typeof value === 'number' ? new Date(value) : value);
    places.set(name, `$${parameters.length}`);
  }
  const tests = ['true', ...[...places].map(([name, place]) => `${testOf[name]} ${place}`)];
  return { tests, parameters, placeOf: (name) => places.get(name) };
}
