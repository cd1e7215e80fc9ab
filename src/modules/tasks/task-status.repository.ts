import { Injectable } from '@nestjs/common';
import type { KnownTask, TaskLimits } from '../../core/completion/index.js';
import type { TaskState } from '../../core/model/enums.js';
import type { PerhapsRunning } from '../../core/model/strategy.js';
import type { TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows, toTime } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { hasHttpCheck } from './health/watched-task.repository.js';
import { taskIdOfRow, type TaskIdRow } from './task.repository.js';

/** A new state of a task. */
export interface NewStatus {
  taskId: string;
  /** Epoch milliseconds. */
  timestamp: number;
  state: TaskState;
  message?: string;
  /** REASON_... */
  reason?: string;
}

/** A task that its machine has taken on, and that does not run yet. */
export interface StartingTask {
  taskId: TaskId;
  slaveId: string;
  state: TaskState;
  /** Since when it is in that state, epoch milliseconds. */
  since: number;
  /** As its machine said it last. */
  message?: string;
  /** Its machine does not answer. */
  isSilent: boolean;
}

/** A live task as far as its statuses change it. */
export interface ReportedTask extends KnownTask, PerhapsRunning, TaskLimits {
  taskId: TaskId;
  /** Epoch milliseconds. */
  stateAt: number;
  /** Its launch document is there, as it should be. */
  hasData: boolean;
}

/** New values of a task's row. Times in epoch milliseconds. */
export interface TaskAdvance {
  taskId: string;
  state: TaskState;
  stateAt: number;
  runningAt?: number;
  endedAt?: number;
  directory?: string;
}

interface TaskRow extends TaskIdRow {
  task_id: string;
  memory_mb: number;
  disk_mb: number;
  incarnation: string;
  state: TaskState;
  state_at: Date;
  ended: boolean;
  may_run: boolean;
  is_of_former_life: boolean;
  has_data: boolean;
}

/** A task that was given up, when its machine tells of it again. */
export interface GivenUpTask {
  /** Its machine answered its launch, or it ran. */
  isAnswered: boolean;
  /** By each state that it was in: the reason that came with it. */
  reasons: ReadonlyMap<TaskState, string | null>;
  /** Another task of its deploy runs under its instance number, and is healthy. */
  isReplaced: boolean;
}

interface StartingRow {
  task_id: string;
  slave_id: string;
  state: TaskState;
  at: Date;
  message: string | null;
  silent: boolean;
}

interface GivenUpRow {
  task_id: string;
  answered: boolean;
  updates: Partial<Record<TaskState, string | null>>;
  replaced: boolean;
}

/** SQL: a running task has passed its health check, or has none. */
const isHealthy = (task: string): string => `(${task}.healthchecks_finished OR ${task}.skip_healthchecks
  OR EXISTS (SELECT 1 FROM request r WHERE r.id = ${task}.request_id AND (r.document ->> 'skipHealthchecks')::boolean)
  OR NOT EXISTS (SELECT 1 FROM deploy_history d WHERE d.request_id = ${task}.request_id AND d.deploy_id = ${task}.deploy_id
    AND ${hasHttpCheck('d')}))`;

/**
 * Reads and writes of live tasks for status updates. By hand: thousands of updates a second, many rows at a time and no
 * more columns than needed.
 */
@Injectable()
export class TaskStatusRepository {
  /** Locks the rows until `tx` ends, in the order of task ids. By task id; tasks that are not live are left out. */
  async lockTasks(tx: Transaction, taskIds: readonly string[]): Promise<Map<string, ReportedTask>> {
    const found = await rows<TaskRow>(
      tx,
      `SELECT t.task_id, t.request_id, t.deploy_id, t.instance_no, t.host, t.rack_id, t.started_at, t.memory_mb, t.disk_mb,
         t.incarnation, t.state, t.state_at, t.ended_at IS NOT NULL AS ended, t.may_run,
         t.ended_at IS NOT NULL AND EXISTS (SELECT 1 FROM slave s WHERE s.id = t.slave_id AND s.incarnation <> t.incarnation)
           AS is_of_former_life,
         EXISTS (SELECT 1 FROM task_launch l WHERE l.task_id = t.task_id) AS has_data
       FROM task t WHERE t.task_id = ANY ($1) ORDER BY t.task_id FOR NO KEY UPDATE OF t`,
      [taskIds],
    );
    return new Map(found.map((row) => [row.task_id, reportedTask(row)]));
  }

  /** Further data of tasks that have ended as far as their rows say; locked in `tx`. By task id. */
  async givenUp(tx: Transaction, taskIds: readonly string[]): Promise<Map<string, GivenUpTask>> {
    const found = await rows<GivenUpRow>(
      tx,
      `SELECT t.task_id, t.answered_at IS NOT NULL OR t.running_at IS NOT NULL AS answered,
         (SELECT json_object_agg(u.state, u.reason) FROM task_update u WHERE u.task_id = t.task_id) AS updates,
         EXISTS (SELECT 1 FROM task o WHERE o.request_id = t.request_id AND o.deploy_id = t.deploy_id
           AND o.instance_no = t.instance_no AND o.task_id <> t.task_id AND o.ended_at IS NULL AND o.state = 'TASK_RUNNING'
           AND ${isHealthy('o')}) AS replaced
       FROM task t WHERE t.task_id = ANY ($1)`,
      [taskIds],
    );
    return new Map(
      found.map(({ task_id: taskId, answered, updates, replaced }) => {
        const states = new Map(Object.entries(updates) as [TaskState, string | null][]);
        return [taskId, { isAnswered: answered, reasons: states, isReplaced: replaced }];
      }),
    );
  }

  /** The first update per task and state wins. Answers those that are new. */
  async insertUpdates<T extends NewStatus>(tx: Transaction, reports: readonly T[]): Promise<T[]> {
    if (reports.length === 0) return [];
    const inserted = await rows<{ task_id: string; state: TaskState }>(
      tx,
      `INSERT INTO task_update (task_id, state, at, message, reason)
       SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[])
       ON CONFLICT (task_id, state) DO NOTHING RETURNING task_id, state`,
      [
        reports.map((report) => report.taskId),
        reports.map((report) => report.state),
        reports.map((report) => new Date(report.timestamp)),
        reports.map((report) => report.message ?? null),
        reports.map((report) => report.reason ?? null),
      ],
    );
    if (inserted.length === reports.length) return [...reports];
    const left = new Set(inserted.map((row) => `${row.state} ${row.task_id}`));
    // Twice in one batch: the first one is in.
    return reports.filter((report) => left.delete(`${report.state} ${report.taskId}`));
  }

  /** Tasks of a request that have not begun to run, and of which it is known why, the oldest first. */
  async startingOf(tx: Queryable, requestId: string, most: number): Promise<StartingTask[]> {
    const found = await rows<StartingRow>(
      tx,
      `SELECT t.task_id, t.slave_id, t.state, u.at, u.message, coalesce(s.state IN ('DEAD', 'MISSING_ON_STARTUP'), false) AS silent
       FROM task t JOIN task_update u ON u.task_id = t.task_id AND u.state = t.state LEFT JOIN slave s ON s.id = t.slave_id
       WHERE t.request_id = $1 AND t.state IN ('TASK_STAGING', 'TASK_STARTING') AND t.ended_at IS NULL
         AND (u.message IS NOT NULL OR s.state IN ('DEAD', 'MISSING_ON_STARTUP'))
       ORDER BY t.started_at, t.task_id LIMIT $2`,
      [requestId, most],
    );
    return found.map((row) => ({
      taskId: parseTaskId(row.task_id)!, // made by this service, so it can be read
      slaveId: row.slave_id,
      state: row.state,
      since: row.at.getTime(),
      ...(row.message !== null && { message: row.message }),
      isSilent: row.silent,
    }));
  }

  /** Replaces the messages of these statuses, where they are others. Answers those that were. One report per task. */
  async retell<T extends NewStatus>(tx: Transaction, reports: readonly T[]): Promise<T[]> {
    if (reports.length === 0) return [];
    const changed = await rows<{ task_id: string }>(
      tx,
      `UPDATE task_update u SET message = n.message FROM unnest($1::text[], $2::text[], $3::text[]) AS n (task_id, state, message)
       WHERE u.task_id = n.task_id AND u.state = n.state AND u.message IS DISTINCT FROM n.message RETURNING u.task_id`,
      [
        reports.map((report) => report.taskId),
        reports.map((report) => report.state),
        reports.map((report) => report.message ?? null),
      ],
    );
    const ids = new Set(changed.map(({ task_id: id }) => id));
    return reports.filter(({ taskId }) => ids.has(taskId));
  }

  /** Writes new values of tasks that are locked in `tx`. */
  async advance(tx: Transaction, tasks: readonly TaskAdvance[]): Promise<void> {
    if (tasks.length === 0) return;
    const column = <T>(pick: (task: TaskAdvance) => T): T[] => tasks.map(pick);
    await tx.query(
      `UPDATE task SET state = n.state, state_at = n.state_at, running_at = coalesce(task.running_at, n.running_at),
         ended_at = n.ended_at, directory = coalesce(task.directory, n.directory)
       FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::text[])
         AS n (task_id, state, state_at, running_at, ended_at, directory)
       WHERE task.task_id = n.task_id`,
      [
        column((task) => task.taskId),
        column((task) => task.state),
        column((task) => new Date(task.stateAt)),
        column((task) => toTime(task.runningAt)),
        column((task) => toTime(task.endedAt)),
        column((task) => task.directory ?? null),
      ],
    );
  }

  /** By task id: tasks that were given up and may run, or do not any more. They are locked in `tx`. */
  async setMayRun(tx: Transaction, tasks: ReadonlyMap<string, boolean>): Promise<void> {
    if (tasks.size === 0) return;
    await tx.query(
      `UPDATE task SET may_run = n.may_run FROM unnest($1::text[], $2::boolean[]) AS n (task_id, may_run)
       WHERE task.task_id = n.task_id AND task.may_run <> n.may_run`,
      [[...tasks.keys()], [...tasks.values()]],
    );
  }

  /**
   * Tasks that have ended, and are locked in `tx`, live again: of each its newest entry, the end, is dropped, and the state
   * stands in its place. Where it is `told`, it gets an entry, in which is kept what its entry said before.
   */
  async reactivate(tx: Transaction, tasks: readonly (NewStatus & { told: boolean })[]): Promise<void> {
    if (tasks.length === 0) return;
    const ids = tasks.map(({ taskId }) => taskId);
    const times = tasks.map(({ timestamp }) => new Date(timestamp));
    const states = tasks.map(({ state }) => state);
    await tx.query(
      `DELETE FROM task_update u USING task t WHERE t.task_id = ANY ($1) AND u.task_id = t.task_id AND u.state = t.state`,
      [ids],
    );
    await tx.query(
      `INSERT INTO task_update AS former (task_id, state, at, message, reason)
       SELECT task_id, state, at, message, reason FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[],
         $6::boolean[]) AS n (task_id, state, at, message, reason, told) WHERE told
       ON CONFLICT (task_id, state) DO UPDATE SET at = excluded.at, message = excluded.message, reason = excluded.reason,
         previous = former.previous || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
           'timestamp', (extract(epoch FROM former.at) * 1000)::bigint, 'statusMessage', former.message)))`,
      [
        ids,
        states,
        times,
        tasks.map(({ message }) => message ?? null),
        tasks.map(({ reason }) => reason ?? null),
        tasks.map(({ told }) => told),
      ],
    );
    await tx.query(
      `UPDATE task SET state = n.state, state_at = n.at, ended_at = NULL, may_run = false,
         answered_at = CASE WHEN n.told THEN coalesce(task.answered_at, n.at) ELSE task.answered_at END,
         running_at = coalesce(task.running_at, CASE WHEN n.told AND n.state = 'TASK_RUNNING' THEN n.at END)
       FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::boolean[]) AS n (task_id, state, at, told)
       WHERE task.task_id = n.task_id`,
      [ids, states, times, tasks.map(({ told }) => told)],
    );
  }
}

const reportedTask = (row: TaskRow): ReportedTask => ({
  taskId: taskIdOfRow(row),
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  incarnation: row.incarnation,
  state: row.state,
  stateAt: row.state_at.getTime(),
  ended: row.ended,
  mayRun: row.may_run,
  isOfFormerLife: row.is_of_former_life,
  hasData: row.has_data,
});
