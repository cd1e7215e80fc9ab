import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskHistory, TaskIdHistory } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { rows } from '../../platform/database/sql.js';
import { OldPayloads } from './old-payloads.service.js';
import type { PageBounds } from './paging.js';
import { newestUpdateSql, newestStateSql } from './task-history-sql.js';
import { countSql, pageSql, type TaskSearch } from './task-search-sql.js';

export type { TaskFilter, TaskSearch } from './task-search-sql.js';

interface TaskIdRow {
  task_id: string;
  updated_at: Date;
  run_id: string | null;
  state: TaskState | null;
}

/** Lists of tasks. Active tasks are in the active lists only, ended ones in the searches only. */
@Injectable()
export class TaskSearches {
  constructor(private readonly old: OldPayloads) {}

  async find(tx: EntityManager, search: TaskSearch, bounds: PageBounds): Promise<TaskIdHistory[]> {
    const { sql, parameters } = pageSql(search, bounds);
    return (await rows<TaskIdRow>(tx, sql, parameters)).map(fromRow);
  }

  async count(tx: EntityManager, search: TaskSearch): Promise<number> {
    const { sql, parameters } = countSql(search);
    const [found] = await rows<{ count: string }>(tx, sql, parameters);
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
    const live = `UNION ALL SELECT t.task_id, ${newestUpdateSql}, (l.document->'pendingTask'->'cmdLineArgsList')::jsonb, NULL
      FROM task t JOIN task_launch l USING (task_id) WHERE t.request_id = $1 AND t.ended_at IS NOT NULL`;
    const found = await rows<{ arguments: string[] | null; bytes: Buffer | null }>(
      tx,
      `SELECT arguments, bytes FROM (
         (SELECT task_id, updated_at, data->'task'${path} AS arguments, CASE WHEN data IS NULL THEN bytes END AS bytes
          FROM task_history WHERE request_id = $1 ORDER BY updated_at DESC, task_id LIMIT $2) ${historyOnly ? '' : live}
       ) AS tasks ORDER BY updated_at DESC, task_id LIMIT $2`,
      [requestId, count],
    );
    const lists = found.map((row) => row.arguments ?? this.oldArguments(row.bytes));
    const given = lists.filter((list) => Array.isArray(list) && list.length > 0) as string[][];
    return [...new Map(given.map((list) => [JSON.stringify(list), list])).values()];
  }

  private oldArguments(bytes: Buffer | null): string[] | undefined {
    const old = this.old.document<TaskHistory>('TASK', bytes);
    return old?.task.taskRequest?.pendingTask?.cmdLineArgsList;
  }
}

const fromRow = (row: TaskIdRow): TaskIdHistory => ({
  // What stands in these tables was made by makeTaskId and reads back.
  taskId: parseTaskId(row.task_id)!,
  updatedAt: row.updated_at.getTime(),
  runId: row.run_id ?? undefined,
  lastTaskState: row.state ?? undefined,
});
