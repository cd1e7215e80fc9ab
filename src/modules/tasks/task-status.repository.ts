import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { KnownTask, TaskLimits } from '../../core/completion/index.js';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskId } from '../../core/model/task.js';
import { rows, toTime } from '../../platform/database/sql.js';
import { taskIdOfRow, type TaskIdRow } from './task.repository.js';

/** That a task is in a state now. */
export interface NewStatus {
  taskId: string;
  /** Epoch milliseconds. */
  timestamp: number;
  state: TaskState;
  message?: string;
  /** REASON_... */
  reason?: string;
}

/** A live task as far as its statuses change it. */
export interface ReportedTask extends KnownTask, TaskLimits {
  taskId: TaskId;
  /** Epoch milliseconds. */
  stateAt: number;
  /** Its launch document is there, as it should be. */
  hasData: boolean;
}

/** What a task's row becomes. Times in epoch milliseconds. */
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
  has_data: boolean;
}

/**
 * What status updates need and change of live tasks.
 * By hand: thousands of updates a second, many rows at a time and no more columns than needed.
 */
@Injectable()
export class TaskStatusRepository {
  /** Locks the rows until `tx` ends, in the order of task ids. By task id; tasks that are not live are left out. */
  async lockTasks(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, ReportedTask>> {
    const found = await rows<TaskRow>(
      tx,
      `SELECT t.task_id, t.request_id, t.deploy_id, t.instance_no, t.host, t.rack_id, t.started_at, t.memory_mb, t.disk_mb,
         t.incarnation, t.state, t.state_at, t.ended_at IS NOT NULL AS ended,
         EXISTS (SELECT 1 FROM task_launch l WHERE l.task_id = t.task_id) AS has_data
       FROM task t WHERE t.task_id = ANY ($1) ORDER BY t.task_id FOR NO KEY UPDATE OF t`,
      [taskIds],
    );
    return new Map(found.map((row) => [row.task_id, reportedTask(row)]));
  }

  /** The request of a live task. */
  async requestIdOf(tx: EntityManager, taskId: string): Promise<string | undefined> {
    const [found] = await rows<{ request_id: string }>(tx, 'SELECT request_id FROM task WHERE task_id = $1', [taskId]);
    return found?.request_id;
  }

  /** The states that a live task was in so far, in no order, each with the reason that came with it. */
  statesOf(tx: EntityManager, taskId: string): Promise<{ state: TaskState; reason: string | null }[]> {
    return rows(tx, 'SELECT state, reason FROM task_update WHERE task_id = $1', [taskId]);
  }

  /** Whether another task of its deploy runs under its instance number. */
  async runsElsewhere(tx: EntityManager, { id, requestId, deployId, instanceNo }: TaskId): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM task WHERE request_id = $1 AND deploy_id = $2 AND instance_no = $3 AND task_id <> $4
         AND ended_at IS NULL AND state = 'TASK_RUNNING' LIMIT 1`,
      [requestId, deployId, instanceNo, id],
    );
    return found.length > 0;
  }

  /** The first update per task and state wins. Answers those that are new. */
  async insertUpdates<T extends NewStatus>(tx: EntityManager, reports: readonly T[]): Promise<T[]> {
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

  /** Of tasks that are locked in `tx`. */
  async advance(tx: EntityManager, tasks: readonly TaskAdvance[]): Promise<void> {
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

  /**
   * A task that has ended, and is locked in `tx`, lives again: its newest entry, the end, is dropped, and the reported
   * state stands in its place. What that state's entry said before is kept in it.
   */
  async reactivate(tx: EntityManager, { taskId, state, timestamp, message, reason }: NewStatus): Promise<void> {
    const at = new Date(timestamp);
    await tx.query(
      `DELETE FROM task_update u USING task t WHERE t.task_id = $1 AND u.task_id = t.task_id AND u.state = t.state`,
      [taskId],
    );
    await tx.query(
      `INSERT INTO task_update AS former (task_id, state, at, message, reason) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (task_id, state) DO UPDATE SET at = excluded.at, message = excluded.message, reason = excluded.reason,
         previous = former.previous || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
           'timestamp', (extract(epoch FROM former.at) * 1000)::bigint, 'statusMessage', former.message)))`,
      [taskId, state, at, message ?? null, reason ?? null],
    );
    await tx.query(
      `UPDATE task SET state = $2, state_at = $3, ended_at = NULL,
         running_at = coalesce(running_at, CASE WHEN $2 = 'TASK_RUNNING' THEN $3::timestamptz END) WHERE task_id = $1`,
      [taskId, state, at],
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
  hasData: row.has_data,
});
