import { Injectable } from '@nestjs/common';
import type { LaunchRecord } from '../../core/launch/index.js';
import { groupBy } from '../../core/group-by.js';
import { shellCommandUpdateTypes } from '../../core/model/enums.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { ShellCommand } from '../../core/model/request.js';
import {
  byUpdateOrder,
  type TaskHealthcheckResult,
  type TaskHistory,
  type TaskId,
  type TaskMetadata,
  type TaskShellCommandHistory,
  type TaskShellCommandUpdate,
} from '../../core/model/task.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { LaunchedTaskRepository } from '../tasks/launched-task.repository.js';
import { programsOf, type TaskProgramRow } from '../tasks/programs/task-program.repository.js';
import { taskUpdateOf, type TaskUpdateRow } from '../tasks/task.repository.js';

/** Rows as PostgreSQL writes them as JSON: times are text. */
interface RecordRows {
  healthcheck: {
    checked_at: string;
    startup: boolean;
    status_code: number | null;
    duration_millis: number | null;
    response_body: string | null;
    error_message: string | null;
  };
  balancing: { kind: string; document: LoadBalancerUpdate | null };
  command: {
    name: string;
    queued_at: string;
    user_name: string | null;
    document: ShellCommand;
    dispatched_at: string | null;
  };
  commandUpdate: {
    name: string;
    queued_at: string;
    update_type: TaskShellCommandUpdate['updateType'];
    at: string;
    message: string | null;
    output_filename: string | null;
  };
  program: TaskProgramRow;
  metadata: {
    type: string;
    at: string;
    title: string;
    message: string | null;
    user_name: string | null;
    level: TaskMetadata['level'];
  };
}
type RecordKind = keyof RecordRows;
/** Further records of live tasks, most of which have none. */
type RecordRow = { [Kind in RecordKind]: { kind: Kind; task_id: string; record: RecordRows[Kind] } }[RecordKind];

/** Everything else that is written about live tasks, by its table. */
const recordTables: Record<RecordKind, string> = {
  healthcheck: 'task_healthcheck',
  balancing: 'load_balancer_record',
  command: 'task_shell_command',
  commandUpdate: 'task_shell_command_update',
  program: 'task_program',
  metadata: 'task_metadata',
};
const recordsSql = Object.entries(recordTables)
  .map(
    ([kind, table]) =>
      `SELECT '${kind}' AS kind, task_id, row_to_json(r) AS record FROM ${table} r WHERE task_id = ANY ($1)`,
  )
  .join(' UNION ALL ');

/** The part of a history that is put together here for the move; the rest goes from row to row. */
export type EndedTaskHistory = Omit<TaskHistory, 'task' | 'taskUpdates'> & { task: LaunchRecord };

/**
 * Everything known about tasks whose rows stand in the live tables. By hand: the move into the history reads many tasks at
 * a time, in two queries.
 */
@Injectable()
export class LiveTaskHistoryRepository {
  constructor(private readonly launched: LaunchedTaskRepository) {}

  /** By task id. Those without a row of their own, or without what they were launched with, are left out. */
  async find(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, TaskHistory>> {
    const launched = await this.launched.find(tx, taskIds);
    if (launched.size === 0) return new Map();
    const updates = groupBy(
      await rows<TaskUpdateRow>(
        tx,
        'SELECT task_id, state, at, message, reason, previous FROM task_update WHERE task_id = ANY ($1)',
        [taskIds],
      ),
      (row) => row.task_id,
    );
    const records = await this.records(tx, taskIds);
    return new Map(
      [...launched].map(([id, { task, directory }]) => [
        id,
        {
          taskUpdates: (updates.get(id) ?? []).map((row) => taskUpdateOf(task.taskId, row)).sort(byUpdateOrder),
          directory,
          task,
          ...recordsOf(task.taskId, records.get(id) ?? []),
        },
      ]),
    );
  }

  /** Histories of tasks that have ended, without their updates and their pending tasks. */
  async ended(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, EndedTaskHistory>> {
    const [launched, records] = await Promise.all([this.launched.ended(tx, taskIds), this.records(tx, taskIds)]);
    return new Map(
      [...launched].map(([id, { task, directory }]) => [
        id,
        { directory, task, ...recordsOf(task.taskId, records.get(id) ?? []) },
      ]),
    );
  }

  private async records(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, RecordRow[]>> {
    return groupBy(await rows<RecordRow>(tx, recordsSql, [taskIds]), (row) => row.task_id);
  }
}

/** Collects the records of a task out of its rows, in whatever order they come. */
function recordsOf(
  taskId: TaskId,
  records: readonly RecordRow[],
): Omit<TaskHistory, 'task' | 'taskUpdates' | 'directory'> {
  const of = <Kind extends RecordKind>(kind: Kind): RecordRows[Kind][] =>
    records.filter((row) => row.kind === kind).map((row) => row.record as RecordRows[Kind]);
  return {
    healthcheckResults: of('healthcheck')
      .map((row) => toHealthcheck(taskId, row))
      .sort((a, b) => a.timestamp - b.timestamp || Number(b.startup) - Number(a.startup)),
    loadBalancerUpdates: of('balancing')
      .toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
      .flatMap(({ document }) => document ?? [])
      .sort((a, b) => a.timestamp - b.timestamp),
    shellCommandHistory: toShellCommands(taskId, of('command'), of('commandUpdate')),
    taskMetadata: of('metadata')
      .map((row) => toMetadata(taskId, row))
      .sort((a, b) => a.timestamp - b.timestamp || (a.type < b.type ? -1 : 1)),
    ...(of('program').length > 0 && { programs: programsOf(of('program')) }),
  };
}

const toHealthcheck = (taskId: TaskId, row: RecordRows['healthcheck']): TaskHealthcheckResult => ({
  taskId,
  timestamp: Date.parse(row.checked_at),
  startup: row.startup,
  statusCode: row.status_code ?? undefined,
  durationMillis: row.duration_millis ?? undefined,
  responseBody: row.response_body ?? undefined,
  errorMessage: row.error_message ?? undefined,
});

const toMetadata = (taskId: TaskId, row: RecordRows['metadata']): TaskMetadata => ({
  taskId,
  timestamp: Date.parse(row.at),
  type: row.type,
  title: row.title,
  message: row.message ?? undefined,
  user: row.user_name ?? undefined,
  level: row.level,
});

/** The commands that were sent to their machine. */
function toShellCommands(
  taskId: TaskId,
  commands: readonly RecordRows['command'][],
  updates: readonly RecordRows['commandUpdate'][],
): TaskShellCommandHistory[] {
  return commands
    .filter(({ dispatched_at }) => dispatched_at !== null)
    .map((command) => ({
      shellRequest: {
        taskId,
        user: command.user_name ?? undefined,
        timestamp: Date.parse(command.queued_at),
        shellCommand: command.document,
      },
      shellUpdates: updates
        .filter(({ name, queued_at }) => name === command.name && queued_at === command.queued_at)
        // Clocks may differ: the order is that of a command's life.
        .toSorted((a, b) => lifeOrder(a) - lifeOrder(b))
        .map((update) => toShellUpdate(taskId, update)),
    }))
    .sort((a, b) => a.shellRequest.timestamp - b.shellRequest.timestamp);
}

const lifeOrder = ({ update_type }: RecordRows['commandUpdate']): number =>
  shellCommandUpdateTypes.indexOf(update_type);

const toShellUpdate = (taskId: TaskId, row: RecordRows['commandUpdate']): TaskShellCommandUpdate => ({
  shellRequestId: { taskId, name: row.name, timestamp: Date.parse(row.queued_at) },
  timestamp: Date.parse(row.at),
  message: row.message ?? undefined,
  outputFilename: row.output_filename ?? undefined,
  updateType: row.update_type,
});
