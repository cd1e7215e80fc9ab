import { isTerminal, shellCommandUpdateTypes, taskStates, type TaskState } from '../../core/model/enums.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { ShellCommand } from '../../core/model/request.js';
import type {
  Task,
  TaskHealthcheckResult,
  TaskHistory,
  TaskHistoryUpdate,
  TaskId,
  TaskMetadata,
  TaskShellCommandHistory,
  TaskShellCommandUpdate,
} from '../../core/model/task.js';

/** A row of task_update. */
export interface UpdateRow {
  task_id: string;
  state: TaskState;
  at: Date;
  message: string | null;
  reason: string | null;
  previous: Partial<TaskHistoryUpdate>[];
}

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
  metadata: {
    type: string;
    at: string;
    title: string;
    message: string | null;
    user_name: string | null;
    level: TaskMetadata['level'];
  };
}
export type RecordKind = keyof RecordRows;
/** What else is known of live tasks, most of which have none of it. */
export type RecordRow = { [Kind in RecordKind]: { kind: Kind; task_id: string; record: RecordRows[Kind] } }[RecordKind];

/** The TaskHistory record of a live task, out of the rows about it, in whatever order they come. */
export function liveTaskHistory(
  task: Task,
  directory: string | undefined,
  updates: readonly UpdateRow[],
  records: readonly RecordRow[],
): TaskHistory {
  const { taskId } = task;
  const of = <Kind extends RecordKind>(kind: Kind): RecordRows[Kind][] =>
    records.filter((row) => row.kind === kind).map((row) => row.record as RecordRows[Kind]);
  return {
    taskUpdates: updates.toSorted(byUpdateOrder).map((row) => toUpdate(taskId, row)),
    directory,
    healthcheckResults: of('healthcheck')
      .map((row) => toHealthcheck(taskId, row))
      .sort((a, b) => a.timestamp - b.timestamp || Number(b.startup) - Number(a.startup)),
    task,
    loadBalancerUpdates: of('balancing')
      .toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
      .flatMap(({ document }) => document ?? [])
      .sort((a, b) => a.timestamp - b.timestamp),
    shellCommandHistory: toShellCommands(taskId, of('command'), of('commandUpdate')),
    taskMetadata: of('metadata')
      .map((row) => toMetadata(taskId, row))
      .sort((a, b) => a.timestamp - b.timestamp || (a.type < b.type ? -1 : 1)),
  };
}

/**
 * By time; the end always last, even where clocks of machines disagree, because readers take the last update for the present
 * state; states of the same millisecond in the order of a task's life.
 */
const byUpdateOrder = (a: UpdateRow, b: UpdateRow): number =>
  Number(isTerminal(a.state)) - Number(isTerminal(b.state)) ||
  a.at.getTime() - b.at.getTime() ||
  taskStates.indexOf(a.state) - taskStates.indexOf(b.state);

const toUpdate = (taskId: TaskId, row: UpdateRow): TaskHistoryUpdate => ({
  taskId,
  timestamp: row.at.getTime(),
  taskState: row.state,
  statusMessage: row.message ?? undefined,
  statusReason: row.reason ?? undefined,
  previous: row.previous.map(
    (earlier) => ({ ...earlier, taskId, taskState: row.state, previous: [] }) as TaskHistoryUpdate,
  ),
});

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

/** Those that were sent to their machine. */
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
