import { Injectable } from '@nestjs/common';
import type { Request } from '../../core/model/request.js';
import type { ActiveRun } from '../../core/requests/run-times.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';

/** An active run of a job. */
export interface LongRun extends ActiveRun {
  taskId: string;
  request: Request;
  /** It was told of before that the run takes longer than expected. */
  told: boolean;
  /** User who started it. */
  user?: string;
}

/** Limits from which on a run is looked at. */
export interface RunLimits {
  /** Limit for requests that have none of their own. */
  taskExecutionTimeLimitMillis?: number;
  warnIfScheduledJobIsRunningForAtLeastMillis: number;
}

interface RunRow {
  task_id: string;
  started_at: Date;
  average_runtime_millis: number | null;
  told: boolean;
  schedule_since: Date | null;
  user_name: string | null;
  request: Request;
}

const startedAt = 'coalesce(t.counts_since, t.started_at)';

/** Runs that may take too long. By hand: the limit stands in the document of the request, and is asked for by the leader alone. */
@Injectable()
export class LongRunRepository {
  /** Active runs without an order to go, old enough that there may be something to say. */
  find(tx: Queryable, limits: RunLimits, now: number): Promise<LongRun[]> {
    return this.read(
      tx,
      `(extract(epoch FROM $1::timestamptz - ${startedAt}) * 1000
         >= coalesce((r.document->>'taskExecutionTimeLimitMillis')::bigint, $2::bigint)
       OR (r.request_type = 'SCHEDULED' AND t.overdue_alert_at IS NULL AND ${startedAt} <= $3::timestamptz))`,
      [
        new Date(now),
        limits.taskExecutionTimeLimitMillis ?? null,
        new Date(now - limits.warnIfScheduledJobIsRunningForAtLeastMillis),
      ],
    );
  }

  /** The active runs without an order to go among these tasks. */
  of(tx: Queryable, taskIds: readonly string[]): Promise<LongRun[]> {
    return this.read(tx, 't.task_id = ANY ($1)', [taskIds]);
  }

  private async read(tx: Queryable, which: string, parameters: unknown[]): Promise<LongRun[]> {
    const found = await rows<RunRow>(
      tx,
      `SELECT t.task_id, ${startedAt} AS started_at, t.overdue_alert_at IS NOT NULL AS told, r.document AS request, r.schedule_since,
         l.document #>> '{pendingTask,user}' AS user_name,
         s.average_runtime_millis::double precision AS average_runtime_millis
       FROM task t JOIN request r ON r.id = t.request_id
         LEFT JOIN task_launch l ON l.task_id = t.task_id
         LEFT JOIN deploy_statistics s ON s.request_id = t.request_id AND s.deploy_id = t.deploy_id
       WHERE t.ended_at IS NULL AND r.request_type NOT IN ('SERVICE', 'WORKER') AND ${which}
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)
       ORDER BY t.task_id`,
      parameters,
    );
    return found.map((row) => ({
      taskId: row.task_id,
      request: row.request,
      startedAt: row.started_at.getTime(),
      averageRuntimeMillis: row.average_runtime_millis ?? undefined,
      told: row.told,
      scheduleSince: toMillis(row.schedule_since),
      user: row.user_name ?? undefined,
    }));
  }

  /** false: it ended meanwhile, or it was told before. */
  async markOverdue(tx: Transaction, taskId: string, now: number): Promise<boolean> {
    const marked = await rows(
      tx,
      `UPDATE task SET overdue_alert_at = $2
       WHERE task_id = $1 AND ended_at IS NULL AND overdue_alert_at IS NULL RETURNING task_id`,
      [taskId, new Date(now)],
    );
    return marked.length > 0;
  }
}
