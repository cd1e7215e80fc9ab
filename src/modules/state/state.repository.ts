import { Injectable } from '@nestjs/common';
import { runnableStates, type RequestType } from '../../core/model/enums.js';
import type { TaskReconciliationStatistics } from '../../core/model/state.js';
import { type ReconciliationRun, reconciliationStatistics } from '../../core/reconciliation/reconciliation.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import type { ProvisionedRequest, WaitingTask } from '../../core/pending-work/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { TaskReconciliationEntity } from './task-reconciliation.entity.js';

interface TaskCounts {
  active: number;
  launching: number;
  cleaning: number;
  pendingRequests: number;
  cleaningRequests: number;
  leavingLoadBalancer: number;
  requestsLeavingLoadBalancer: number;
}

type Nullable<T, Member extends keyof T> = Omit<T, Member> & { [name in Member]: T[name] | null };

/**
 * Figures of the state that are told by several tables together. By hand: each is one statement over all live rows, and
 * dashboards ask for them all the time.
 */
@Injectable()
export class StateRepository {
  async taskCounts(tx: Transaction): Promise<TaskCounts> {
    const [counts] = await rows<TaskCounts>(
      tx,
      `SELECT count(*) FILTER (WHERE running_at IS NOT NULL)::int AS active,
         count(*) FILTER (WHERE running_at IS NULL)::int AS launching,
         (SELECT count(*)::int FROM task_cleanup JOIN task USING (task_id) WHERE ended_at IS NULL) AS cleaning,
         (SELECT count(*)::int FROM pending_request) AS "pendingRequests",
         (SELECT count(*)::int FROM request_cleanup) AS "cleaningRequests",
         (SELECT count(*)::int FROM load_balancer_removal LEFT JOIN task l USING (task_id)
          WHERE l.task_id IS NULL OR l.ended_at IS NOT NULL) AS "leavingLoadBalancer",
         (SELECT count(*)::int FROM load_balancer_deletion) AS "requestsLeavingLoadBalancer"
       FROM task WHERE ended_at IS NULL`,
    );
    return counts!;
  }

  async waitingTasks(tx: Queryable): Promise<WaitingTask[]> {
    const found = await rows<{
      id: string;
      request_type: RequestType | null;
      instances: number | null;
      running: number;
      buffered: boolean;
    }>(
      tx,
      `SELECT p.id, r.request_type, (r.document->>'instances')::int AS instances, p.document ? 'buffered' AS buffered,
         CASE WHEN r.request_type = 'ON_DEMAND'
           THEN (SELECT count(*)::int FROM task t WHERE t.request_id = r.id AND t.ended_at IS NULL) ELSE 0 END AS running
       FROM pending_task p LEFT JOIN request r ON r.id = p.request_id WHERE NOT p.delete_requested
       ORDER BY p.next_run_at, p.id`,
    );
    return found.map((row) => ({
      pendingTaskId: parsePendingTaskId(row.id)!,
      onDemand: row.request_type === 'ON_DEMAND',
      instances: row.instances ?? undefined,
      running: row.running,
      buffered: row.buffered,
    }));
  }

  /** Requests that should have a certain number of tasks at any time. */
  async provisionedRequests(tx: Transaction): Promise<ProvisionedRequest[]> {
    const found = await rows<Nullable<ProvisionedRequest, 'instances' | 'overlapPolicy' | 'missedRuns'>>(
      tx,
      `SELECT r.id, r.request_type AS "requestType", (r.document->>'instances')::int AS instances,
         r.document->>'overlapPolicy' AS "overlapPolicy", r.document->'missedRuns' AS "missedRuns",
         coalesce(r.active_deploy_id, r.pending_deploy_id) IS NOT NULL AS "hasDeploy",
         coalesce(t.active, 0) AS active, coalesce(t.cleaning, 0) AS cleaning, coalesce(p.waiting, 0) AS waiting,
         EXISTS (SELECT 1 FROM pending_request q WHERE q.request_id = r.id) AS queued
       FROM request r
       LEFT JOIN (SELECT task.request_id, count(*)::int AS active,
           count(*) FILTER (WHERE c.task_id IS NOT NULL OR k.task_id IS NOT NULL)::int AS cleaning
         FROM task LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
         WHERE ended_at IS NULL AND task.pending_type <> 'BACKFILL' GROUP BY task.request_id) t ON t.request_id = r.id
       LEFT JOIN (SELECT request_id, count(*)::int AS waiting FROM pending_task
         WHERE NOT delete_requested AND pending_type <> 'BACKFILL' GROUP BY request_id) p ON p.request_id = r.id
       WHERE r.state = ANY ($1) AND r.request_type IN ('SERVICE', 'WORKER', 'SCHEDULED') ORDER BY r.id`,
      [runnableStates],
    );
    return found.map((row) => ({
      ...row,
      instances: row.instances ?? undefined,
      overlapPolicy: row.overlapPolicy ?? undefined,
      missedRuns: row.missedRuns ?? undefined,
    }));
  }

  /** Result of the last comparison of stored tasks with those of the machines. */
  async lastReconciliation(tx: Queryable): Promise<TaskReconciliationStatistics | undefined> {
    return (await tx.getRepository(TaskReconciliationEntity).findOneBy({ onlyRow: true }))?.document;
  }

  async saveReconciliation(tx: Queryable, run: ReconciliationRun): Promise<void> {
    const document = reconciliationStatistics(run);
    await tx.getRepository(TaskReconciliationEntity).upsert({ onlyRow: true, document }, ['onlyRow']);
  }
}
