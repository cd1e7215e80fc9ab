import { Injectable } from '@nestjs/common';
import { type DeployCounts, noCounts } from '../../core/completion/index.js';
import { type DeployKey, deployKeyText, type TaskFailureEvent } from '../../core/model/deploy.js';
import type { TaskState } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis, toTime } from '../../platform/database/sql.js';

interface CountsRow {
  request_id: string;
  deploy_id: string;
  num_tasks: number;
  num_success: number;
  num_failures: number;
  num_sequential_retries: number;
  last_finish_at: Date | null;
  last_task_state: TaskState | null;
  average_runtime_millis: number | null;
  runtime_samples: number;
  average_scheduling_delay_millis: number | null;
  skipped_runs: number;
  failed_runs: number;
  failure_events: TaskFailureEvent[];
}

/**
 * Counts over the ended tasks of deploys. Changed under the lock on the request's row. By hand: each batch of status updates
 * reads and writes the counts of many deploys in one statement each.
 */
@Injectable()
export class DeployStatisticsRepository {
  /** By deployKeyText; deploys of which no task ended have none. */
  async find(tx: Queryable, keys: readonly DeployKey[]): Promise<Map<string, DeployCounts>> {
    if (keys.length === 0) return new Map();
    const found = await rows<CountsRow>(
      tx,
      `SELECT s.* FROM deploy_statistics s
       JOIN (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS u (request_id, deploy_id)) wanted USING (request_id, deploy_id)`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
    return new Map(
      found.map((row) => [deployKeyText({ requestId: row.request_id, deployId: row.deploy_id }), fromRow(row)]),
    );
  }

  /** Times at which tasks of the deploy failed. */
  async failureTimes(tx: Transaction, key: DeployKey): Promise<number[]> {
    const counts = (await this.find(tx, [key])).get(deployKeyText(key)) ?? noCounts;
    return counts.failureEvents.map((event) => event.timestamp);
  }

  async save(tx: Transaction, changed: readonly { key: DeployKey; counts: DeployCounts }[]): Promise<void> {
    if (changed.length === 0) return;
    const column = <T>(pick: (counts: DeployCounts) => T): T[] => changed.map(({ counts }) => pick(counts));
    await tx.query(
      `INSERT INTO deploy_statistics (request_id, deploy_id, num_tasks, num_success, num_failures, num_sequential_retries,
         last_finish_at, last_task_state, average_runtime_millis, runtime_samples, average_scheduling_delay_millis, failure_events,
         skipped_runs, failed_runs)
       SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::integer[],
         $7::timestamptz[], $8::text[], $9::double precision[], $10::integer[], $11::double precision[], $12::jsonb[], $13::integer[],
         $14::integer[])
       ON CONFLICT (request_id, deploy_id) DO UPDATE SET num_tasks = excluded.num_tasks, num_success = excluded.num_success,
         num_failures = excluded.num_failures, num_sequential_retries = excluded.num_sequential_retries,
         last_finish_at = excluded.last_finish_at, last_task_state = excluded.last_task_state,
         average_runtime_millis = excluded.average_runtime_millis, runtime_samples = excluded.runtime_samples,
         average_scheduling_delay_millis = excluded.average_scheduling_delay_millis, failure_events = excluded.failure_events,
         skipped_runs = excluded.skipped_runs, failed_runs = excluded.failed_runs`,
      [
        changed.map(({ key }) => key.requestId),
        changed.map(({ key }) => key.deployId),
        column((counts) => counts.numTasks),
        column((counts) => counts.numSuccess),
        column((counts) => counts.numFailures),
        column((counts) => counts.numSequentialRetries),
        column((counts) => toTime(counts.lastFinishAt)),
        column((counts) => counts.lastTaskState ?? null),
        column((counts) => counts.averageRuntimeMillis ?? null),
        column((counts) => counts.runtimeSamples),
        column((counts) => counts.averageSchedulingDelayMillis ?? null),
        column((counts) => JSON.stringify(counts.failureEvents)),
        column((counts) => counts.skippedRuns ?? 0),
        column((counts) => counts.failedRuns ?? 0),
      ],
    );
  }

  /** Removes at most so many whose request is gone and that are older. Answers how many went. */
  async purgeOfGoneRequests(tx: Transaction, before: Date, most: number): Promise<number> {
    const gone = await rows(
      tx,
      `DELETE FROM deploy_statistics WHERE ctid = ANY (ARRAY(SELECT s.ctid FROM deploy_statistics s
         WHERE coalesce(last_finish_at, '-infinity') < $1 AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = s.request_id)
         LIMIT $2)) RETURNING 1`,
      [before, most],
    );
    return gone.length;
  }

  /**
   * Looks at the next `most` after `after`, in the order of their keys, and removes those whose request is there and whose deploy is not
   * in the history any more: unless it serves, is under way or has a task. Answers the last key; undefined: none is left.
   *
   * OFFSET 0 keeps each condition a look into an index per row. As joins, each statement would read both tables: one million rows take
   * 6 to 12 s in one statement; like this 0.2 s for 25,000 of them (two cores, nothing to remove).
   */
  async purgeOfGoneDeploys(tx: Transaction, most: number, after?: DeployKey): Promise<DeployKey | undefined> {
    const [last] = await rows<Pick<CountsRow, 'request_id' | 'deploy_id'>>(
      tx,
      `WITH looked_at AS MATERIALIZED (SELECT request_id, deploy_id FROM deploy_statistics
         WHERE (request_id, deploy_id) > ($1, $2) ORDER BY request_id, deploy_id LIMIT $3),
       forgotten AS MATERIALIZED (SELECT * FROM looked_at l WHERE NOT EXISTS (
         SELECT 1 FROM deploy_history d WHERE d.request_id = l.request_id AND d.deploy_id = l.deploy_id OFFSET 0)),
       gone AS MATERIALIZED (SELECT * FROM forgotten f
         WHERE EXISTS (SELECT 1 FROM request r WHERE r.id = f.request_id AND f.deploy_id IS DISTINCT FROM r.active_deploy_id
             AND f.deploy_id IS DISTINCT FROM r.pending_deploy_id OFFSET 0)
           AND NOT EXISTS (SELECT 1 FROM pending_deploy p WHERE p.request_id = f.request_id AND p.deploy_id = f.deploy_id OFFSET 0)
           AND NOT EXISTS (SELECT 1 FROM task t WHERE t.request_id = f.request_id AND t.deploy_id = f.deploy_id OFFSET 0)
           AND NOT EXISTS (SELECT 1 FROM pending_task w WHERE w.request_id = f.request_id AND w.deploy_id = f.deploy_id OFFSET 0)),
       removed AS (DELETE FROM deploy_statistics s USING gone g
         WHERE s.request_id = g.request_id AND s.deploy_id = g.deploy_id)
       SELECT request_id, deploy_id FROM looked_at ORDER BY request_id DESC, deploy_id DESC LIMIT 1`,
      [after?.requestId ?? '', after?.deployId ?? '', most],
    );
    return last && { requestId: last.request_id, deployId: last.deploy_id };
  }
}

const fromRow = (row: CountsRow): DeployCounts => ({
  numTasks: row.num_tasks,
  numSuccess: row.num_success,
  numFailures: row.num_failures,
  numSequentialRetries: row.num_sequential_retries,
  lastFinishAt: toMillis(row.last_finish_at),
  lastTaskState: row.last_task_state ?? undefined,
  averageRuntimeMillis: row.average_runtime_millis ?? undefined,
  runtimeSamples: row.runtime_samples,
  averageSchedulingDelayMillis: row.average_scheduling_delay_millis ?? undefined,
  skippedRuns: row.skipped_runs,
  failedRuns: row.failed_runs,
  failureEvents: row.failure_events,
});
