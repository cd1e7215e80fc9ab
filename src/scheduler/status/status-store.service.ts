import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { PendingTask } from '../../core/model/task.js';
import { rows, toTime } from '../../platform/database/sql.js';
import type { Report } from './report.js';

/** How far the updates of an agent are applied. */
export interface AgentCursor {
  agentId: string;
  incarnation: string;
  /** Number of the last update applied. */
  number: number;
}

/** What a task's row becomes. */
export interface TaskAdvance {
  taskId: string;
  state: TaskState;
  stateAt: number;
  runningAt?: number;
  endedAt?: number;
  directory?: string;
}

/** Writes what status updates change, many rows at a time. */
@Injectable()
export class StatusStore {
  async cursor(tx: EntityManager, agentId: string): Promise<AgentCursor | undefined> {
    const [found] = await rows<{ incarnation: string; applied_update: number }>(
      tx,
      'SELECT incarnation, applied_update FROM agent_cursor WHERE agent_id = $1',
      [agentId],
    );
    return found && { agentId, incarnation: found.incarnation, number: found.applied_update };
  }

  async saveCursor(tx: EntityManager, { agentId, incarnation, number }: AgentCursor): Promise<void> {
    await tx.query(
      `INSERT INTO agent_cursor (agent_id, incarnation, applied_update) VALUES ($1, $2, $3)
       ON CONFLICT (agent_id) DO UPDATE SET incarnation = excluded.incarnation, applied_update = excluded.applied_update`,
      [agentId, incarnation, number],
    );
  }

  /** The first update per task and state wins. */
  async insertUpdates(tx: EntityManager, reports: readonly Report[]): Promise<void> {
    if (reports.length === 0) return;
    await tx.query(
      `INSERT INTO task_update (task_id, state, at, message, reason)
       SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[])
       ON CONFLICT (task_id, state) DO NOTHING`,
      [
        reports.map((report) => report.taskId),
        reports.map((report) => report.state),
        reports.map((report) => new Date(report.timestamp)),
        reports.map((report) => report.message ?? null),
        reports.map((report) => report.reason ?? null),
      ],
    );
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

  /** Orders about tasks that have ended: there is nothing left to clean up or to kill. */
  async dropOrders(tx: EntityManager, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `WITH cleanups AS (DELETE FROM task_cleanup WHERE task_id = ANY ($1))
       DELETE FROM killed_task WHERE task_id = ANY ($1)`,
      [taskIds],
    );
  }

  /** What live tasks were launched for, by task id. */
  async launchedFor(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, PendingTask>> {
    if (taskIds.length === 0) return new Map();
    const found = await rows<{ task_id: string; pending_task: PendingTask }>(
      tx,
      `SELECT task_id, document->'pendingTask' AS pending_task FROM task_launch WHERE task_id = ANY ($1)`,
      [taskIds],
    );
    return new Map(found.map((row) => [row.task_id, row.pending_task]));
  }
}
