import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { cleanupTypeInText } from '../../../core/cleanup/index.js';
import type { ObservedTask } from '../../../core/health/index.js';
import type { TaskCleanupType } from '../../../core/model/enums.js';
import type { TaskHealthcheckResult, TaskId } from '../../../core/model/task.js';
import { rows, toMillis } from '../../../platform/database/sql.js';
import type { LiveTask } from '../live-tasks.service.js';

/** A live task as health, deploys and cleanups look at it. */
export interface WatchedTask extends ObservedTask {
  /** Type of its cleanup. Of an ended task it is read from the TASK_CLEANING update: the order itself is done with. */
  cleanupType?: TaskCleanupType;
  killed: boolean;
  /** REASON_... of its newest status. */
  statusReason?: string;
}

/**
 * SQL: this result is of a passed check. It is the last word on its task, also when that was given by a user (who skips
 * checks from then on) while a check was in flight which then failed.
 */
export const hasPassed = (result: string): string =>
  `(${result}.error_message IS NULL AND coalesce(${result}.status_code, 0) BETWEEN 200 AND 299)`;

interface ChecksRow {
  task_id: string;
  status_message: string | null;
  status_reason: string | null;
  cleaning_text: string | null;
  skipped_by_request: boolean;
  checks_counted: number;
  checked_at: Date | null;
  startup: boolean | null;
  status_code: number | null;
  duration_millis: number | null;
  error_message: string | null;
}

/** Adds to live tasks what was seen of them: results of health checks, texts of their statuses, skips in force. */
@Injectable()
export class ObservedTasks {
  /** In the order given. */
  async observe(tx: EntityManager, tasks: readonly LiveTask[]): Promise<WatchedTask[]> {
    if (tasks.length === 0) return [];
    const found = await rows<ChecksRow>(
      tx,
      `SELECT t.task_id, newest.message AS status_message, newest.reason AS status_reason,
         cleaning.message AS cleaning_text, (counted.number + t.healthchecks_dropped)::int AS checks_counted,
         coalesce((launch.document #>> '{request,skipHealthchecks}')::boolean, false)
           OR coalesce(at_start.skips, false) AS skipped_by_request,
         last.checked_at, last.startup, last.status_code, last.duration_millis, last.error_message
       FROM task t
       LEFT JOIN task_update newest ON newest.task_id = t.task_id AND newest.state = t.state
       LEFT JOIN task_update cleaning ON cleaning.task_id = t.task_id AND cleaning.state = 'TASK_CLEANING'
       LEFT JOIN task_launch launch ON launch.task_id = t.task_id
       LEFT JOIN LATERAL (SELECT * FROM task_healthcheck h WHERE h.task_id = t.task_id
         ORDER BY ${hasPassed('h')} DESC, h.checked_at DESC LIMIT 1) last ON true
       LEFT JOIN LATERAL (SELECT count(*) AS number FROM task_healthcheck h
         WHERE h.task_id = t.task_id AND NOT h.startup) counted ON true
       LEFT JOIN LATERAL (SELECT (h.request ->> 'skipHealthchecks')::boolean AS skips FROM request_history h
         WHERE h.request_id = t.request_id AND h.created_at <= t.running_at
         ORDER BY h.created_at DESC LIMIT 1) at_start ON true
       WHERE t.task_id = ANY ($1)`,
      [tasks.map((task) => task.taskId.id)],
    );
    const byId = new Map(found.map((row) => [row.task_id, row]));
    return tasks.map((task) => watched(task, byId.get(task.taskId.id)));
  }
}

/** A live task of a deploy without health checks: nothing more needs to be read to judge it. */
export const unchecked = (task: LiveTask): WatchedTask => watched(task, undefined);

const watched = (task: LiveTask, row: ChecksRow | undefined): WatchedTask => ({
  taskId: task.taskId,
  state: task.state,
  statusMessage: row?.status_message ?? undefined,
  statusReason: row?.status_reason ?? undefined,
  runningAt: task.runningAt,
  launchedWithSkip: task.skipHealthchecks,
  skippedByRequest: row?.skipped_by_request ?? false,
  lastResult: row && lastResult(task.taskId, row),
  checksCounted: row?.checks_counted ?? 0,
  cleanupType: task.cleaning ?? (task.endedAt === undefined ? undefined : cleanupTypeInText(row?.cleaning_text ?? '')),
  killed: task.killed,
});

function lastResult(taskId: TaskId, row: ChecksRow): TaskHealthcheckResult | undefined {
  if (!row.checked_at) return undefined;
  return {
    taskId,
    timestamp: toMillis(row.checked_at)!,
    startup: row.startup ?? false,
    statusCode: row.status_code ?? undefined,
    durationMillis: row.duration_millis ?? undefined,
    errorMessage: row.error_message ?? undefined,
  };
}
