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
  /** The load balancer is told when it is healthy. */
  loadBalanced: boolean;
}

/** More at once would keep the event loop busy with their rows for too long. */
const mostAtOnce = 200;

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

  /**
   * Running tasks of SERVICE and WORKER requests whose deploy has a health check over HTTP that has not passed yet, with
   * the version of their request: as long as it is the same, nothing that decides about their checks was changed by others.
   */
  async unsettled(tx: EntityManager): Promise<Map<string, number>> {
    // Which deploys have such a check is told by an index over just those: the documents of deploys are large.
    const found = await rows<{ task_id: string; version: number }>(
      tx,
      `SELECT t.task_id, r.version FROM task t
       JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id AND ${hasHttpCheck('d')}
       JOIN request r ON r.id = t.request_id
       WHERE t.ended_at IS NULL AND t.running_at IS NOT NULL AND NOT t.healthchecks_finished AND NOT t.skip_healthchecks
         AND r.request_type IN ('SERVICE', 'WORKER')
         AND coalesce((r.document ->> 'skipHealthchecks')::boolean, false) = false`,
    );
    return new Map(found.map((row) => [row.task_id, row.version]));
  }

  async unsettledIds(tx: EntityManager): Promise<string[]> {
    return [...(await this.unsettled(tx)).keys()];
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

  /** Tasks that have ended, or whose request or deploy is gone, are left out. */
  async load(tx: EntityManager, taskIds: readonly string[]): Promise<CheckedTask[]> {
    const found: CheckedTask[] = [];
    for (let first = 0; first < taskIds.length; first += mostAtOnce) {
      found.push(...(await this.loadSome(tx, taskIds.slice(first, first + mostAtOnce))));
    }
    return found;
  }

  private async loadSome(tx: EntityManager, taskIds: readonly string[]): Promise<CheckedTask[]> {
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
      return { live: task, watched: watched[index]!, context, loadBalanced: stored.request.loadBalanced === true };
    });
  }
}

/** As the index deploy_history_checked says it, word for word: else it is of no use. */
const hasHttpCheck = (deploy: string): string =>
  `${deploy}.data #> '{deploy,healthcheck}' IS NOT NULL AND ${deploy}.data #> '{deploy,healthcheck,healthcheckResultFilePath}' IS NULL`;
