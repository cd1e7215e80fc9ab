import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import {
  isRunnable,
  requestStates,
  type MachineState,
  type RequestState,
  type RequestType,
} from '../../core/model/enums.js';
import type { DeployMarker, DeployProgress } from '../../core/model/deploy.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import type { WaitingTask } from './late-tasks.js';
import type { ProvisionedRequest } from './provisioning.js';

export interface TaskCounts {
  active: number;
  launching: number;
  cleaning: number;
  pendingRequests: number;
  cleaningRequests: number;
  leavingLoadBalancer: number;
  requestsLeavingLoadBalancer: number;
}

export interface RunningDeploy {
  marker: DeployMarker;
  /** When its present step began, in epoch milliseconds. */
  stepSince: number;
}

const runnable = requestStates.filter(isRunnable);

/** What the state is made of. All of it is read in one transaction, so that the figures agree. */
@Injectable()
export class StateStore {
  async taskCounts(tx: EntityManager): Promise<TaskCounts> {
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

  async requestsByState(tx: EntityManager): Promise<Map<RequestState, number>> {
    const found = await rows<{ state: RequestState; count: number }>(
      tx,
      'SELECT state, count(*)::int AS count FROM request GROUP BY state',
    );
    return new Map(found.map((row) => [row.state, row.count]));
  }

  async machinesByState(tx: EntityManager, table: 'slave' | 'rack'): Promise<Map<MachineState, number>> {
    const found = await rows<{ state: MachineState; count: number }>(
      tx,
      `SELECT state, count(*)::int AS count FROM ${table} GROUP BY state`,
    );
    return new Map(found.map((row) => [row.state, row.count]));
  }

  /** When any machine answered last, in epoch milliseconds. */
  async lastSeenAt(tx: EntityManager): Promise<number | undefined> {
    const [found] = await rows<{ at: Date | null }>(tx, 'SELECT max(seen_at) AS at FROM slave');
    return toMillis(found!.at);
  }

  async waitingTasks(tx: EntityManager): Promise<WaitingTask[]> {
    const found = await rows<{
      id: string;
      request_type: RequestType | null;
      instances: number | null;
      running: number;
    }>(
      tx,
      `SELECT p.id, r.request_type, (r.document->>'instances')::int AS instances,
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
    }));
  }

  async runningDeploys(tx: EntityManager): Promise<RunningDeploy[]> {
    const found = await rows<{
      request_id: string;
      deploy_id: string;
      created_at: Date;
      user_name: string | null;
      message: string | null;
      progress: DeployProgress | null;
    }>(
      tx,
      `SELECT request_id, deploy_id, created_at, user_name, message, progress
       FROM pending_deploy JOIN deploy_history USING (request_id, deploy_id) ORDER BY created_at, request_id`,
    );
    return found.map((row) => ({
      marker: {
        requestId: row.request_id,
        deployId: row.deploy_id,
        timestamp: row.created_at.getTime(),
        user: row.user_name ?? undefined,
        message: row.message ?? undefined,
      },
      stepSince: row.progress?.timestamp ?? row.created_at.getTime(),
    }));
  }

  /** Requests that should have a certain number of tasks at any time. */
  async provisionedRequests(tx: EntityManager): Promise<ProvisionedRequest[]> {
    const found = await rows<Omit<ProvisionedRequest, 'instances'> & { instances: number | null }>(
      tx,
      `SELECT r.id, r.request_type AS "requestType", (r.document->>'instances')::int AS instances,
         coalesce(r.active_deploy_id, r.pending_deploy_id) IS NOT NULL AS "hasDeploy",
         coalesce(t.active, 0) AS active, coalesce(t.cleaning, 0) AS cleaning, coalesce(p.waiting, 0) AS waiting,
         EXISTS (SELECT 1 FROM pending_request q WHERE q.request_id = r.id) AS queued
       FROM request r
       LEFT JOIN (SELECT task.request_id, count(*)::int AS active,
           count(*) FILTER (WHERE c.task_id IS NOT NULL OR k.task_id IS NOT NULL)::int AS cleaning
         FROM task LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
         WHERE ended_at IS NULL GROUP BY task.request_id) t ON t.request_id = r.id
       LEFT JOIN (SELECT request_id, count(*)::int AS waiting FROM pending_task WHERE NOT delete_requested
         GROUP BY request_id) p ON p.request_id = r.id
       WHERE r.state = ANY ($1) AND r.request_type IN ('SERVICE', 'WORKER', 'SCHEDULED') ORDER BY r.id`,
      [runnable],
    );
    return found.map((row) => ({ ...row, instances: row.instances ?? undefined }));
  }
}
