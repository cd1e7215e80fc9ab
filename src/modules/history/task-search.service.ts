import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskIdHistory } from '../../core/model/task.js';
import { parseTaskId, sanitize } from '../../core/task-id.js';
import { rows } from '../../platform/database/sql.js';
import { newestUpdateSql, newestStateSql } from './task-history-sql.js';
import type { PageBounds } from './paging.js';

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

interface TaskIdRow {
  task_id: string;
  updated_at: Date;
  run_id: string | null;
  state: TaskState | null;
}

/** Ended tasks whose rows are live still, in the columns of the history. */
const endedLiveTasks = `SELECT t.task_id, t.request_id, t.deploy_id, t.run_id, replace(t.host, '-', '_') AS host, t.started_at,
    ${newestUpdateSql} AS updated_at, t.state AS last_task_status
  FROM task t WHERE t.ended_at IS NOT NULL`;

const columnOf: Readonly<Record<keyof TaskFilter, string>> = {
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

/** Lists of tasks. Active tasks are in the active lists only, ended ones in the searches only. */
@Injectable()
export class TaskSearches {
  async find(tx: EntityManager, search: TaskSearch, { count, offset }: PageBounds): Promise<TaskIdHistory[]> {
    const direction = search.orderDirection ?? 'DESC';
    const order = `updated_at ${direction}, request_id, task_id`;
    const { where, parameters } = conditions(search);
    // Each tier is cut before they are joined, so that the history's part is a walk along an index.
    const part = (source: string): string =>
      `(SELECT task_id, request_id, updated_at, run_id, last_task_status AS state FROM ${source} WHERE ${where}
        ORDER BY ${order} LIMIT ${offset + count})`;
    const found = await rows<TaskIdRow>(
      tx,
      `SELECT * FROM (${tiers(search).map(part).join(' UNION ALL ')}) AS found ORDER BY ${order} LIMIT ${count} OFFSET ${offset}`,
      parameters,
    );
    return found.map(fromRow);
  }

  async count(tx: EntityManager, search: TaskSearch): Promise<number> {
    const { where, parameters } = conditions(search);
    const part = (source: string): string => `(SELECT count(*) FROM ${source} WHERE ${where})`;
    const [found] = await rows<{ count: string }>(
      tx,
      `SELECT ${tiers(search).map(part).join(' + ')} AS count`,
      parameters,
    );
    return Number(found!.count);
  }

  /** Not ended, newest update first. */
  async active(tx: EntityManager, requestId: string, deployId?: string): Promise<TaskIdHistory[]> {
    const found = await rows<TaskIdRow>(
      tx,
      `SELECT t.task_id, ${newestUpdateSql} AS updated_at, t.run_id, ${newestStateSql} AS state
       FROM task t WHERE t.ended_at IS NULL AND t.request_id = $1 AND ($2::text IS NULL OR t.deploy_id = $2)
       ORDER BY updated_at DESC, t.task_id`,
      [requestId, deployId ?? null],
    );
    return found.map(fromRow);
  }

  /** The newest task of a run, active or ended. */
  async newestOfRun(tx: EntityManager, requestId: string, runId: string): Promise<TaskIdHistory | undefined> {
    const found = await rows<TaskIdRow>(
      tx,
      `SELECT task_id, updated_at, run_id, state FROM (
         SELECT t.task_id, t.started_at, ${newestUpdateSql} AS updated_at, t.run_id, ${newestStateSql} AS state
         FROM task t WHERE t.request_id = $1 AND t.run_id = $2
         UNION ALL SELECT task_id, started_at, updated_at, run_id, last_task_status FROM task_history
         WHERE request_id = $1 AND run_id = $2) AS found
       ORDER BY started_at DESC, task_id LIMIT 1`,
      [requestId, runId],
    );
    return found.map(fromRow)[0];
  }

  /** Distinct argument lists, not empty, of the newest `count` ended tasks of a request; the newest first. */
  async commandLineArguments(
    tx: EntityManager,
    requestId: string,
    count: number,
    historyOnly: boolean,
  ): Promise<string[][]> {
    const path = `->'taskRequest'->'pendingTask'->'cmdLineArgsList'`;
    const live = `UNION ALL SELECT t.task_id, ${newestUpdateSql}, (l.document->'pendingTask'->'cmdLineArgsList')::jsonb
      FROM task t JOIN task_launch l USING (task_id) WHERE t.request_id = $1 AND t.ended_at IS NOT NULL`;
    const found = await rows<{ arguments: string[] }>(
      tx,
      `SELECT arguments FROM (
         SELECT arguments, updated_at FROM (
           (SELECT task_id, updated_at, data->'task'${path} AS arguments FROM task_history WHERE request_id = $1
            ORDER BY updated_at DESC, task_id LIMIT $2) ${historyOnly ? '' : live}
         ) AS tasks ORDER BY updated_at DESC, task_id LIMIT $2) AS newest
       WHERE jsonb_typeof(arguments) = 'array' AND arguments <> '[]' GROUP BY arguments ORDER BY max(updated_at) DESC`,
      [requestId, count],
    );
    return found.map((row) => row.arguments);
  }
}

const tiers = ({ historyOnly }: TaskSearch): string[] =>
  historyOnly ? ['task_history'] : ['task_history', `(${endedLiveTasks}) AS live`];

function conditions(filter: TaskFilter): { where: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const tests = ['true'];
  for (const [name, test] of Object.entries(columnOf) as [keyof TaskFilter, string][]) {
    const value = filter[name];
    if (value === undefined) continue;
    parameters.push(name === 'host' ? sanitize(String(value)) : typeof value === 'number' ? new Date(value) : value);
    tests.push(`${test} $${parameters.length}`);
  }
  return { where: tests.join(' AND '), parameters };
}

const fromRow = (row: TaskIdRow): TaskIdHistory => ({
  // What stands in these tables was made by makeTaskId and reads back.
  taskId: parseTaskId(row.task_id)!,
  updatedAt: row.updated_at.getTime(),
  runId: row.run_id ?? undefined,
  lastTaskState: row.state ?? undefined,
});
