import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { groupBy } from '../../core/group-by.js';
import type { TaskHistory } from '../../core/model/task.js';
import { rows } from '../../platform/database/sql.js';
import {
  launchedTask,
  launchedTaskColumns,
  launchedTaskTables,
  type LaunchedTaskRow,
} from '../tasks/launched-tasks.js';
import { liveTaskHistory, type RecordKind, type RecordRow, type UpdateRow } from './live-task-history.js';

type LiveRow = LaunchedTaskRow & { directory: string | null };

/** Everything else that is written about live tasks, by its table. */
const recordTables: Record<RecordKind, string> = {
  healthcheck: 'task_healthcheck',
  balancing: 'load_balancer_record',
  command: 'task_shell_command',
  commandUpdate: 'task_shell_command_update',
  metadata: 'task_metadata',
};
const recordsSql = Object.entries(recordTables)
  .map(
    ([kind, table]) =>
      `SELECT '${kind}' AS kind, task_id, row_to_json(r) AS record FROM ${table} r WHERE task_id = ANY ($1)`,
  )
  .join(' UNION ALL ');

/** Reads everything known about tasks whose rows stand in the live tables, for many tasks in three queries. */
@Injectable()
export class LiveTaskHistories {
  /** By task id. Those without a row of their own, or without what they were launched with, are left out. */
  async find(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, TaskHistory>> {
    const launched = await rows<LiveRow>(
      tx,
      `SELECT ${launchedTaskColumns}, t.directory FROM ${launchedTaskTables} WHERE t.task_id = ANY ($1)`,
      [taskIds],
    );
    if (launched.length === 0) return new Map();
    const updates = groupBy(
      await rows<UpdateRow>(
        tx,
        'SELECT task_id, state, at, message, reason, previous FROM task_update WHERE task_id = ANY ($1)',
        [taskIds],
      ),
      (row) => row.task_id,
    );
    const records = groupBy(await rows<RecordRow>(tx, recordsSql, [taskIds]), (row) => row.task_id);
    return new Map(
      launched.map((row) => {
        const id = row.task_id;
        const task = launchedTask(row);
        return [id, liveTaskHistory(task, row.directory ?? undefined, updates.get(id) ?? [], records.get(id) ?? [])];
      }),
    );
  }
}
