import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PendingType, TaskCleanupType, TaskState } from '../../core/model/enums.js';
import type { TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { makeTaskId } from '../../core/task-id.js';
import { rows, toMillis } from '../../platform/database/sql.js';

/** A task whose row is live: launched, and not yet moved to the history. Times in epoch milliseconds. */
export interface LiveTask {
  taskId: TaskId;
  slaveId: string;
  /** Host name and rack as the machine gave them, not sanitized. */
  host: string;
  rackId: string;
  incarnation: string;
  pendingType: PendingType;
  runId?: string;
  actionId?: string;
  skipHealthchecks: boolean;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  ports: number[];
  /** Newest status; TASK_CLEANING never stands here. */
  state: TaskState;
  stateAt: number;
  sentAt?: number;
  answeredAt?: number;
  runningAt?: number;
  /** Absent: the task is active. */
  endedAt?: number;
  healthchecksFinished: boolean;
  directory?: string;
  /** Type of its cleanup: the task is cleaning. */
  cleaning?: TaskCleanupType;
  /** A kill was decided and the end has not been reported yet. */
  killed: boolean;
}

export interface LiveTaskFilter {
  requestIds?: readonly string[];
  taskIds?: readonly string[];
  slaveId?: string;
  /** Ended tasks that are not moved to the history yet are left out unless this is set. */
  includeEnded?: boolean;
  /** Locks the rows until `tx` ends, in the order of task ids. */
  lock?: boolean;
}

interface TaskRow {
  request_id: string;
  deploy_id: string;
  slave_id: string;
  instance_no: number;
  host: string;
  rack_id: string;
  started_at: Date;
  pending_type: PendingType;
  run_id: string | null;
  action_id: string | null;
  skip_healthchecks: boolean;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  ports: number[];
  incarnation: string;
  state: TaskState;
  state_at: Date;
  sent_at: Date | null;
  answered_at: Date | null;
  running_at: Date | null;
  ended_at: Date | null;
  healthchecks_finished: boolean;
  directory: string | null;
  cleanup_type: TaskCleanupType | null;
  killed: boolean;
}

/** Reads live tasks together with what was ordered about them. In the order of task ids. */
@Injectable()
export class LiveTasks {
  async find(tx: EntityManager, filter: LiveTaskFilter = {}): Promise<LiveTask[]> {
    const found = await rows<TaskRow>(
      tx,
      `SELECT t.*, c.cleanup_type, k.task_id IS NOT NULL AS killed
       FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
       WHERE ($1::text[] IS NULL OR t.request_id = ANY ($1)) AND ($2::text[] IS NULL OR t.task_id = ANY ($2))
         AND ($3::text IS NULL OR t.slave_id = $3) AND ($4 OR t.ended_at IS NULL)
       ORDER BY t.task_id ${filter.lock ? 'FOR NO KEY UPDATE OF t' : ''}`,
      [filter.requestIds ?? null, filter.taskIds ?? null, filter.slaveId ?? null, filter.includeEnded ?? false],
    );
    return found.map(fromRow);
  }

  /** Updates of live tasks by task id, oldest first, TASK_CLEANING included. */
  async updates(tx: EntityManager, taskIds: readonly TaskId[]): Promise<Map<string, TaskHistoryUpdate[]>> {
    const byId = new Map(taskIds.map((taskId) => [taskId.id, taskId]));
    const found = await rows<{
      task_id: string;
      state: TaskState;
      at: Date;
      message: string | null;
      reason: string | null;
      previous: { timestamp: number; statusMessage?: string }[];
    }>(tx, 'SELECT * FROM task_update WHERE task_id = ANY ($1) ORDER BY task_id, at', [[...byId.keys()]]);
    const result = new Map<string, TaskHistoryUpdate[]>([...byId.keys()].map((id) => [id, []]));
    for (const row of found) {
      const taskId = byId.get(row.task_id)!;
      result.get(row.task_id)!.push({
        taskId,
        timestamp: row.at.getTime(),
        taskState: row.state,
        statusMessage: row.message ?? undefined,
        statusReason: row.reason ?? undefined,
        previous: row.previous.map((former) => ({ taskId, taskState: row.state, previous: [], ...former })),
      });
    }
    return result;
  }
}

/** Columns of a task's row of which its id is made. */
export interface TaskIdRow {
  request_id: string;
  deploy_id: string;
  started_at: Date;
  instance_no: number;
  host: string;
  rack_id: string;
}

export const taskIdOfRow = (row: TaskIdRow): TaskId =>
  makeTaskId({
    requestId: row.request_id,
    deployId: row.deploy_id,
    startedAt: row.started_at.getTime(),
    instanceNo: row.instance_no,
    host: row.host,
    rackId: row.rack_id,
  });

const fromRow = (row: TaskRow): LiveTask => ({
  taskId: taskIdOfRow(row),
  slaveId: row.slave_id,
  host: row.host,
  rackId: row.rack_id,
  incarnation: row.incarnation,
  pendingType: row.pending_type,
  runId: row.run_id ?? undefined,
  actionId: row.action_id ?? undefined,
  skipHealthchecks: row.skip_healthchecks,
  cpus: row.cpus,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  ports: row.ports,
  state: row.state,
  stateAt: row.state_at.getTime(),
  sentAt: toMillis(row.sent_at),
  answeredAt: toMillis(row.answered_at),
  runningAt: toMillis(row.running_at),
  endedAt: toMillis(row.ended_at),
  healthchecksFinished: row.healthchecks_finished,
  directory: row.directory ?? undefined,
  cleaning: row.cleanup_type ?? undefined,
  killed: row.killed,
});
