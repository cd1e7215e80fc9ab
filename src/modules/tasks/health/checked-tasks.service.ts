import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { HealthContext } from '../../../core/health/index.js';
import { rows } from '../../../platform/database/sql.js';
import { deployKeyText, DeployStore } from '../../deploys/deploy-store.service.js';
import { RequestStore } from '../../requests/request-store.service.js';
import { LiveTasks, type LiveTask } from '../live-tasks.service.js';
import { HealthSwitch } from './health-switch.service.js';
import { ObservedTasks, type WatchedTask } from './observed-tasks.service.js';

/** An active task with everything that its health depends on. */
export interface CheckedTask {
  live: LiveTask;
  watched: WatchedTask;
  context: HealthContext;
}

/** Finds the tasks whose health is not settled. */
@Injectable()
export class CheckedTasks {
  constructor(
    private readonly requests: RequestStore,
    private readonly deploys: DeployStore,
    private readonly tasks: LiveTasks,
    private readonly observed: ObservedTasks,
    private readonly health: HealthSwitch,
  ) {}

  /** Running tasks of SERVICE and WORKER requests whose deploy has a health check over HTTP that has not passed yet. */
  async unsettledIds(tx: EntityManager): Promise<string[]> {
    // Deploys are read once each, not once per task: their documents are large.
    const found = await rows<{ task_id: string }>(
      tx,
      `WITH unsettled AS MATERIALIZED (
         SELECT task_id, request_id, deploy_id FROM task
         WHERE ended_at IS NULL AND running_at IS NOT NULL AND NOT healthchecks_finished AND NOT skip_healthchecks
       ), checked AS MATERIALIZED (
         SELECT d.request_id, d.deploy_id FROM deploy_history d
         JOIN (SELECT DISTINCT request_id, deploy_id FROM unsettled) u USING (request_id, deploy_id)
         WHERE d.data #> '{deploy,healthcheck}' IS NOT NULL
           AND d.data #> '{deploy,healthcheck,healthcheckResultFilePath}' IS NULL
       )
       SELECT task_id FROM unsettled JOIN checked USING (request_id, deploy_id) JOIN request r ON r.id = request_id
       WHERE r.request_type IN ('SERVICE', 'WORKER')
         AND coalesce((r.document ->> 'skipHealthchecks')::boolean, false) = false`,
    );
    return found.map((row) => row.task_id);
  }

  /** Active tasks that should run by now and do not. */
  async notRunningSince(tx: EntityManager, launchedBefore: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      'SELECT task_id FROM task WHERE ended_at IS NULL AND running_at IS NULL AND started_at < $1',
      [new Date(launchedBefore)],
    );
    return found.map((row) => row.task_id);
  }

  /** In the order of task ids. Tasks that have ended, or whose request or deploy is gone, are left out. */
  async load(tx: EntityManager, taskIds: readonly string[]): Promise<CheckedTask[]> {
    if (taskIds.length === 0) return [];
    const live = await this.tasks.find(tx, { taskIds });
    const watched = await this.observed.observe(tx, live);
    const keys = new Map(live.map(({ taskId }) => [deployKeyText(taskId), taskId]));
    const deploys = await this.deploys.findMany(tx, [...keys.values()]);
    const requestIds = [...new Set(live.map(({ taskId }) => taskId.requestId))];
    const requests = new Map((await this.requests.findMany(tx, requestIds)).map((found) => [found.request.id, found]));
    const settings = await this.health.inForce(tx);
    return live.flatMap((task, index) => {
      const { requestId, deployId } = task.taskId;
      const stored = requests.get(requestId);
      const deploy = deploys.get(deployKeyText(task.taskId))?.deploy;
      if (!stored || !deploy) return [];
      const context: HealthContext = {
        deploy,
        deployPending: stored.pendingDeployId === deployId,
        requestSkips: stored.request.skipHealthchecks === true,
        settings,
      };
      return { live: task, watched: watched[index]!, context };
    });
  }
}
