import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { EnteringTask } from '../../core/load-balancer/index.js';
import { rows } from '../../platform/database/sql.js';
import { RequestStore } from '../requests/request-store.service.js';
import { CheckedTasks } from '../tasks/health/checked-tasks.service.js';
import type { LiveTask } from '../tasks/live-tasks.service.js';
import { LoadBalancerRecords } from './load-balancer-records.service.js';

export interface OutsideTask extends EnteringTask {
  live: LiveTask;
}

/** Finds running tasks of load balanced requests that do not get their traffic, or not for sure. */
@Injectable()
export class OutsideTasks {
  constructor(
    private readonly requests: RequestStore,
    private readonly tasks: CheckedTasks,
    private readonly records: LoadBalancerRecords,
  ) {}

  /** In the order of task ids. Those of a deploy in progress, and those that have to go, are left out. */
  async ids(tx: EntityManager): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t JOIN request r ON r.id = t.request_id
         LEFT JOIN load_balancer_record a ON a.task_id = t.task_id AND a.kind = 'ADD'
         LEFT JOIN load_balancer_record m ON m.task_id = t.task_id AND m.kind = 'REMOVE'
       WHERE t.ended_at IS NULL AND t.running_at IS NOT NULL AND (r.document ->> 'loadBalanced')::boolean
         AND t.deploy_id IS DISTINCT FROM r.pending_deploy_id
         AND (a.document IS NULL OR a.document ->> 'loadBalancerState' <> 'SUCCESS' OR m.document IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)
       ORDER BY t.task_id`,
    );
    return found.map((row) => row.task_id);
  }

  /** In the order of task ids. Tasks that have ended, or whose request or deploy is gone, are left out. */
  async load(tx: EntityManager, taskIds: readonly string[]): Promise<OutsideTask[]> {
    const checked = await this.tasks.load(tx, taskIds);
    const records = await this.records.find(tx, taskIds);
    const requestIds = [...new Set(checked.map(({ live }) => live.taskId.requestId))];
    const requests = new Map((await this.requests.findMany(tx, requestIds)).map((found) => [found.request.id, found]));
    return checked.map(({ live, watched, context }) => {
      const stored = requests.get(live.taskId.requestId);
      return {
        live,
        task: watched,
        context,
        records: records.get(live.taskId.id)!,
        hasToGo: live.cleaning !== undefined || live.killed,
        activeDeployId: stored?.activeDeployId,
        pendingDeployId: stored?.pendingDeployId,
      };
    });
  }
}
