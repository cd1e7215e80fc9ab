import { Injectable } from '@nestjs/common';
import type { ObservedTask } from '../../../core/health/index.js';
import type { SickTaskWait, TaskCleanupType } from '../../../core/model/enums.js';
import type { TaskHealthcheckResult, TaskId } from '../../../core/model/task.js';
import type { ClockLimit } from '../../../platform/clock-limit.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows, toMillis } from '../../../platform/database/sql.js';
import type { LiveTask } from '../task.repository.js';
import { hasPassed } from './task-healthcheck.repository.js';

/** A live task as health, deploys and cleanups look at it. */
export interface WatchedTask extends ObservedTask {
  /** Type of its cleanup. Of an ended task it is read from the TASK_CLEANING update: the order itself is done with. */
  cleanupType?: TaskCleanupType;
  killed: boolean;
  /** REASON_... of its newest status. */
  statusReason?: string;
  /** Of a sick task: why it was not replaced; absent: nothing was decided yet. */
  sickWait?: SickTaskWait;
}

/** The members of a live task that tell its health where it is not checked. */
export type JudgedTask = Pick<
  LiveTask,
  'taskId' | 'state' | 'runningAt' | 'skipHealthchecks' | 'cleaning' | 'killed' | 'endedAt'
>;

interface ChecksRow {
  task_id: string;
  status_message: string | null;
  status_reason: string | null;
  counts_since: Date | null;
  cleanup_type: TaskCleanupType | null;
  skipped_by_request: boolean;
  checks_counted: number;
  is_sick: boolean;
  sick_wait: SickTaskWait | null;
  checked_at: Date | null;
  startup: boolean | null;
  status_code: number | null;
  duration_millis: number | null;
  error_message: string | null;
}

/**
 * Observations of live tasks: results of health checks, texts of their statuses, skips in force. By hand: lists of
 * requests and every pass over deploys and cleanups read it for many tasks at once.
 */
@Injectable()
export class WatchedTaskRepository {
  /** Tasks that were started, or run, since a time that is still to come count since now. Answers how many. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const taken = await rows(
      tx,
      `UPDATE task SET running_at = least(running_at, $1),
         counts_since = CASE WHEN coalesce(counts_since, started_at) > $2 THEN $1 ELSE counts_since END
       WHERE ended_at IS NULL AND (running_at > $2 OR coalesce(counts_since, started_at) > $2) RETURNING 1`,
      [now, latest],
    );
    return taken.length;
  }

  /** In the order given. */
  async observe(tx: Queryable, tasks: readonly JudgedTask[]): Promise<WatchedTask[]> {
    if (tasks.length === 0) return [];
    const found = await rows<ChecksRow>(
      tx,
      `SELECT t.task_id, t.counts_since, newest.message AS status_message, newest.reason AS status_reason,
         cleaning.cleanup_type, (counted.number + t.healthchecks_dropped)::int AS checks_counted,
         coalesce((launch.document #>> '{request,skipHealthchecks}')::boolean, false)
           OR coalesce(at_start.skips, false) AS skipped_by_request,
         sick.task_id IS NOT NULL AS is_sick, sick.waits_for AS sick_wait,
         last.checked_at, last.startup, last.status_code, last.duration_millis, last.error_message
       FROM task t
       LEFT JOIN task_update newest ON newest.task_id = t.task_id AND newest.state = t.state
       LEFT JOIN task_update cleaning ON cleaning.task_id = t.task_id AND cleaning.state = 'TASK_CLEANING'
       LEFT JOIN task_launch launch ON launch.task_id = t.task_id
       LEFT JOIN task_liveness sick ON sick.task_id = t.task_id AND sick.sick_since IS NOT NULL
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

  /**
   * Running tasks of SERVICE and WORKER requests whose deploy has a health check over HTTP that has not passed yet, with
   * the version of their request: as long as it is the same, nothing that decides about their checks was changed by others.
   */
  async unsettled(tx: Queryable): Promise<Map<string, number>> {
    // Which deploys have such a check is told by an index over just those: the documents of deploys are large.
    const found = await rows<{ task_id: string; version: number }>(
      tx,
      `SELECT t.task_id, r.version FROM task t
       JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id AND ${hasHttpCheck('d')}
       JOIN request r ON r.id = t.request_id
       WHERE t.ended_at IS NULL AND t.running_at IS NOT NULL AND t.state <> 'TASK_KILLING' AND NOT t.healthchecks_finished AND NOT t.skip_healthchecks
         AND r.request_type IN ('SERVICE', 'WORKER')
         AND coalesce((r.document ->> 'skipHealthchecks')::boolean, false) = false`,
    );
    return new Map(found.map((row) => [row.task_id, row.version]));
  }

  /**
   * Running tasks of SERVICE and WORKER requests that are asked for their liveness, with the version of their request: they have
   * passed their health check, or were not asked for it, and may stay.
   */
  async withLiveness(tx: Queryable): Promise<Map<string, number>> {
    const found = await rows<{ task_id: string; version: number }>(
      tx,
      `SELECT t.task_id, r.version FROM task t
       JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id AND ${hasLiveness('d')}
       JOIN request r ON r.id = t.request_id
       WHERE t.ended_at IS NULL AND t.running_at IS NOT NULL AND t.state <> 'TASK_KILLING' AND NOT t.skip_healthchecks
         AND (t.healthchecks_finished OR coalesce((d.data #>> '{deploy,skipHealthchecksOnDeploy}')::boolean, false))
         AND r.request_type IN ('SERVICE', 'WORKER')
         AND coalesce((r.document ->> 'skipHealthchecks')::boolean, false) = false
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)`,
    );
    return new Map(found.map((row) => [row.task_id, row.version]));
  }

  /** Active tasks that should run by now and do not. */
  async notRunningSince(tx: Queryable, launchedBefore: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      'SELECT task_id FROM task WHERE ended_at IS NULL AND running_at IS NULL AND coalesce(counts_since, started_at) < $1',
      [new Date(launchedBefore)],
    );
    return found.map((row) => row.task_id);
  }
}

/** Word for word as the index deploy_history_checked says it: otherwise that index is not used. */
export const hasHttpCheck = (deploy: string): string =>
  `${deploy}.data #> '{deploy,healthcheck}' IS NOT NULL AND ${deploy}.data #> '{deploy,healthcheck,healthcheckResultFilePath}' IS NULL`;

/** Word for word as the index deploy_history_alive says it. */
const hasLiveness = (deploy: string): string => `${deploy}.data #> '{deploy,healthcheck,liveness}' IS NOT NULL`;

/** A live task of a deploy without health checks: nothing more needs to be read to judge it. */
export const unchecked = (task: JudgedTask): WatchedTask => watched(task, undefined);

const watched = (task: JudgedTask, row: ChecksRow | undefined): WatchedTask => ({
  taskId: task.taskId,
  state: task.state,
  statusMessage: row?.status_message ?? undefined,
  statusReason: row?.status_reason ?? undefined,
  countsSince: toMillis(row?.counts_since ?? null),
  runningAt: task.runningAt,
  launchedWithSkip: task.skipHealthchecks,
  skippedByRequest: row?.skipped_by_request ?? false,
  lastResult: row && lastResult(task.taskId, row),
  checksCounted: row?.checks_counted ?? 0,
  ...(row?.is_sick && { isSick: true, sickWait: row.sick_wait ?? undefined }),
  cleanupType: task.cleaning ?? (task.endedAt === undefined ? undefined : (row?.cleanup_type ?? undefined)),
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
