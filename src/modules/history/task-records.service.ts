import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskHistory } from '../../core/model/task.js';
import { rows } from '../../platform/database/sql.js';
import { LiveTaskHistories } from './live-task-histories.service.js';
import { OldPayloads } from './old-payloads.service.js';

/** One task, wherever its row stands. */
export interface TaskRecord {
  /** Still running, as far as is known. */
  active: boolean;
  slaveId?: string;
  runId?: string;
  /** Newest state; TASK_CLEANING never stands here. */
  state?: TaskState;
  history: TaskHistory;
}

interface RecordRow {
  active: boolean;
  slave_id: string | null;
  run_id: string | null;
  state: TaskState | null;
}
type EndedRow = RecordRow & { data: TaskHistory | null; bytes: Buffer | null };

/** Reads single tasks with everything known about them: live ones first, then the history. */
@Injectable()
export class TaskRecords {
  constructor(
    private readonly live: LiveTaskHistories,
    private readonly old: OldPayloads,
  ) {}

  /** undefined: no such task, or its history was purged or cannot be read. */
  async find(tx: EntityManager, taskId: string): Promise<TaskRecord | undefined> {
    return (await this.findLive(tx, taskId)) ?? this.findEnded(tx, taskId);
  }

  private async findLive(tx: EntityManager, taskId: string): Promise<TaskRecord | undefined> {
    const found = await rows<RecordRow>(
      tx,
      'SELECT ended_at IS NULL AS active, slave_id, run_id, state FROM task WHERE task_id = $1',
      [taskId],
    );
    if (found.length === 0) return undefined;
    const histories = await this.live.find(tx, [taskId]);
    return found.map((row) => fromRow(row, histories.get(taskId)))[0];
  }

  private async findEnded(tx: EntityManager, taskId: string): Promise<TaskRecord | undefined> {
    const [row] = await rows<EndedRow>(
      tx,
      `SELECT false AS active, slave_id, run_id, last_task_status AS state, data, bytes
       FROM task_history WHERE task_id = $1 AND NOT purged`,
      [taskId],
    );
    return row && fromRow(row, row.data ?? this.old.document<TaskHistory>('TASK', row.bytes));
  }
}

const fromRow = (row: RecordRow, history: TaskHistory | null | undefined): TaskRecord | undefined =>
  history
    ? {
        active: row.active,
        slaveId: row.slave_id ?? undefined,
        runId: row.run_id ?? undefined,
        state: row.state ?? undefined,
        history,
      }
    : undefined;
