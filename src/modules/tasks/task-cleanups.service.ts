import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskCleanupType } from '../../core/model/enums.js';
import type { Task, TaskCleanup, TaskHistoryUpdate, TaskShellCommandRequestId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { rows } from '../../platform/database/sql.js';
import { launchedTask, launchedTaskColumns, launchedTaskTables, type LaunchedTaskRow } from './launched-tasks.js';
import { WebhookOutbox } from '../webhooks/webhook-outbox.service.js';

interface CleanupRow {
  task_id: string;
  cleanup_type: TaskCleanupType;
  created_at: Date;
  user_name: string | null;
  message: string | null;
  action_id: string | null;
  run_before_kill: TaskShellCommandRequestId | null;
  remove_from_load_balancer: boolean | null;
}

/**
 * Orders that a task has to go. The cleanup poller decides when it is killed; wake 'cleanup' after the commit.
 * Every order written also becomes the task's TASK_CLEANING update, whose text begins with the cleanup type.
 */
@Injectable()
export class TaskCleanups {
  constructor(private readonly outbox: WebhookOutbox) {}

  /** First one wins: does nothing and answers false when the task already has a cleanup. */
  create(tx: EntityManager, cleanup: TaskCleanup): Promise<boolean> {
    return this.write(tx, cleanup, 'DO NOTHING');
  }

  /** Overwrites an existing cleanup. */
  async save(tx: EntityManager, cleanup: TaskCleanup): Promise<void> {
    await this.write(
      tx,
      cleanup,
      `(task_id) DO UPDATE SET cleanup_type = excluded.cleanup_type, created_at = excluded.created_at,
         user_name = excluded.user_name, message = excluded.message, action_id = excluded.action_id,
         run_before_kill = excluded.run_before_kill, remove_from_load_balancer = excluded.remove_from_load_balancer`,
    );
  }

  /** In the order of task ids. */
  async ofRequest(tx: EntityManager, requestId: string): Promise<TaskCleanup[]> {
    const found = await rows<CleanupRow>(tx, 'SELECT * FROM task_cleanup WHERE request_id = $1 ORDER BY task_id', [
      requestId,
    ]);
    return found.map(fromRow);
  }

  /** Of tasks that have not ended, or of one of them; in the order of task ids. */
  async ofActiveTasks(tx: EntityManager, taskId?: string): Promise<TaskCleanup[]> {
    const found = await rows<CleanupRow>(
      tx,
      `SELECT c.* FROM task_cleanup c JOIN task t USING (task_id)
       WHERE t.ended_at IS NULL AND ($1::text IS NULL OR task_id = $1) ORDER BY task_id`,
      [taskId ?? null],
    );
    return found.map(fromRow);
  }

  private async write(tx: EntityManager, cleanup: TaskCleanup, onConflict: string): Promise<boolean> {
    // KEY SHARE: the task cannot move to the history before this order is committed, and then takes it along.
    const written = await rows(
      tx,
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, user_name, message, action_id,
         run_before_kill, remove_from_load_balancer)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
       FROM task WHERE task_id = $1 AND ended_at IS NULL FOR KEY SHARE
       ON CONFLICT ${onConflict} RETURNING task_id`,
      [
        cleanup.taskId.id,
        cleanup.taskId.requestId,
        cleanup.cleanupType,
        new Date(cleanup.timestamp),
        cleanup.user ?? null,
        cleanup.message ?? null,
        cleanup.actionId ?? null,
        cleanup.runBeforeKillId ? JSON.stringify(cleanup.runBeforeKillId) : null,
        cleanup.removeFromLoadBalancer ?? null,
      ],
    );
    if (written.length === 0) return false;
    await this.recordCleaning(tx, cleanup);
    return true;
  }

  private async recordCleaning(tx: EntityManager, cleanup: TaskCleanup): Promise<void> {
    const update: TaskHistoryUpdate = {
      taskId: cleanup.taskId,
      timestamp: cleanup.timestamp,
      taskState: 'TASK_CLEANING',
      statusMessage: cleaningText(cleanup),
      previous: [],
    };
    await tx.query(
      `INSERT INTO task_update AS former (task_id, state, at, message) VALUES ($1, 'TASK_CLEANING', $2, $3)
       ON CONFLICT (task_id, state) DO UPDATE SET at = excluded.at, message = excluded.message,
         previous = former.previous || jsonb_build_array(jsonb_build_object(
           'timestamp', (extract(epoch FROM former.at) * 1000)::bigint, 'statusMessage', former.message))`,
      [cleanup.taskId.id, new Date(cleanup.timestamp), update.statusMessage],
    );
    await this.outbox.tasks(tx, [update], (taskId) => loadLaunchedTask(tx, taskId));
  }
}

const fromRow = (row: CleanupRow): TaskCleanup => ({
  // Task ids are made by this service, so each can be read.
  taskId: parseTaskId(row.task_id)!,
  cleanupType: row.cleanup_type,
  timestamp: row.created_at.getTime(),
  user: row.user_name ?? undefined,
  message: row.message ?? undefined,
  actionId: row.action_id ?? undefined,
  runBeforeKillId: row.run_before_kill ?? undefined,
  removeFromLoadBalancer: row.remove_from_load_balancer ?? undefined,
});

/** Type, then user, then message: other rules search this text, so the type stands first. */
export const cleaningText = ({ cleanupType, user, message }: TaskCleanup): string =>
  `${cleanupType}${user ? ` by ${user}` : ''}${message ? ` - ${message}` : ''}`;

/** The Task record of a live task, as stored at its launch. */
export async function loadLaunchedTask(tx: EntityManager, taskId: string): Promise<Task | undefined> {
  const [found] = await rows<LaunchedTaskRow>(
    tx,
    `SELECT ${launchedTaskColumns} FROM ${launchedTaskTables} WHERE t.task_id = $1`,
    [taskId],
  );
  return found && launchedTask(found);
}
