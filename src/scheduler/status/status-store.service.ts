import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { PendingTask } from '../../core/model/task.js';
import { taskIdOfRow, type TaskIdRow } from '../../modules/tasks/live-tasks.service.js';
import { rows, toTime } from '../../platform/database/sql.js';
import type { Report } from './report.js';
import type { ReportedTask, TaskAdvance } from './status-batch.js';

/** How far the updates of an agent are applied. */
export interface AgentCursor {
  agentId: string;
  incarnation: string;
  /** Number of the last update applied. */
  number: number;
}

/** What a task was launched for, and what became of that. */
export interface LaunchData {
  pendingTask: PendingTask;
  /** Text of its TASK_CLEANING update, when it had to go. */
  cleaningText?: string;
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

/** Reads and writes what status updates need and change, many rows at a time and no more columns than that. */
@Injectable()
export class StatusStore {
  async cursor(tx: EntityManager, agentId: string): Promise<AgentCursor | undefined> {
    return (await this.cursors(tx, [agentId])).get(agentId);
  }

  /** By agent id; agents of which nothing was applied have none. */
  async cursors(tx: EntityManager, agentIds: readonly string[]): Promise<Map<string, AgentCursor>> {
    const found = await rows<{ agent_id: string; incarnation: string; applied_update: number }>(
      tx,
      'SELECT agent_id, incarnation, applied_update FROM agent_cursor WHERE agent_id = ANY ($1)',
      [agentIds],
    );
    const cursors = found.map((row): AgentCursor => ({
      agentId: row.agent_id,
      incarnation: row.incarnation,
      number: row.applied_update,
    }));
    return new Map(cursors.map((cursor) => [cursor.agentId, cursor]));
  }

  async saveCursors(tx: EntityManager, cursors: readonly AgentCursor[]): Promise<void> {
    if (cursors.length === 0) return;
    // In the order of ids, so that two batches never wait for each other in a circle.
    const ordered = cursors.toSorted((a, b) => (a.agentId < b.agentId ? -1 : 1));
    await tx.query(
      `INSERT INTO agent_cursor (agent_id, incarnation, applied_update)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
       ON CONFLICT (agent_id) DO UPDATE SET incarnation = excluded.incarnation, applied_update = excluded.applied_update`,
      [
        ordered.map(({ agentId }) => agentId),
        ordered.map(({ incarnation }) => incarnation),
        ordered.map(({ number }) => number),
      ],
    );
  }

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

  /** The first update per task and state wins. Answers those that are new. */
  async insertUpdates<T extends Report>(tx: EntityManager, reports: readonly T[]): Promise<T[]> {
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
  async reactivate(tx: EntityManager, { taskId, state, timestamp, message, reason }: Report): Promise<void> {
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

  /** Everything about a live task, without a trace in the history. */
  async removeLive(tx: EntityManager, taskId: string): Promise<void> {
    await tx.query(
      `WITH launch AS (DELETE FROM task_launch WHERE task_id = $1),
         updates AS (DELETE FROM task_update WHERE task_id = $1),
         checks AS (DELETE FROM task_healthcheck WHERE task_id = $1),
         commands AS (DELETE FROM task_shell_command WHERE task_id = $1),
         command_updates AS (DELETE FROM task_shell_command_update WHERE task_id = $1),
         metadata AS (DELETE FROM task_metadata WHERE task_id = $1),
         cleanups AS (DELETE FROM task_cleanup WHERE task_id = $1),
         balancing AS (DELETE FROM load_balancer_record WHERE task_id = $1),
         removals AS (DELETE FROM load_balancer_removal WHERE task_id = $1),
         kills AS (DELETE FROM killed_task WHERE task_id = $1)
       DELETE FROM task WHERE task_id = $1`,
      [taskId],
    );
  }

  /** Orders about tasks that have ended: there is nothing left to clean up or to kill. */
  async dropOrders(tx: EntityManager, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `WITH cleanups AS (DELETE FROM task_cleanup WHERE task_id = ANY ($1))
       DELETE FROM killed_task WHERE task_id = ANY ($1)`,
      [taskIds],
    );
  }

  /** By task id. */
  async launchData(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, LaunchData>> {
    const found = await rows<{ task_id: string; pending_task: PendingTask; had_to_go: boolean; text: string | null }>(
      tx,
      `SELECT l.task_id, l.document->'pendingTask' AS pending_task,
         c.task_id IS NOT NULL AS had_to_go, c.message AS text
       FROM task_launch l LEFT JOIN task_update c ON c.task_id = l.task_id AND c.state = 'TASK_CLEANING'
       WHERE l.task_id = ANY ($1)`,
      [taskIds],
    );
    return new Map(
      found.map((row) => [
        row.task_id,
        { pendingTask: row.pending_task, cleaningText: row.had_to_go ? (row.text ?? '') : undefined },
      ]),
    );
  }

  /** What live tasks were launched for, by task id. */
  async launchedFor(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, PendingTask>> {
    const found = await this.launchData(tx, taskIds);
    return new Map([...found].map(([taskId, { pendingTask }]) => [taskId, pendingTask]));
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
