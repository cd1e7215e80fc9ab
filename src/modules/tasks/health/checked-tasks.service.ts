import { Injectable } from '@nestjs/common';
import { healthContext, type HealthContext } from '../../../core/health/index.js';
import { deployKeyText } from '../../../core/model/deploy.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { Rows } from '../../../rows.js';
import type { LiveTask } from '../task.repository.js';
import { HealthSwitch } from './health-switch.service.js';
import type { WatchedTask } from './watched-task.repository.js';

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
    private readonly rows: Rows,
    private readonly health: HealthSwitch,
  ) {}

  /** Tasks that have ended, or whose request or deploy is gone, are left out. */
  async load(tx: Queryable, taskIds: readonly string[]): Promise<CheckedTask[]> {
    const found: CheckedTask[] = [];
    for (let first = 0; first < taskIds.length; first += mostAtOnce) {
      found.push(...(await this.loadSome(tx, taskIds.slice(first, first + mostAtOnce))));
    }
    return found;
  }

  private async loadSome(tx: Queryable, taskIds: readonly string[]): Promise<CheckedTask[]> {
    const live = await this.rows.tasks.find(tx, { taskIds });
    const watched = await this.rows.watchedTasks.observe(tx, live);
    const keys = new Map(live.map(({ taskId }) => [deployKeyText(taskId), taskId]));
    const deploys = await this.rows.deploys.findMany(tx, [...keys.values()]);
    const requestIds = [...new Set(live.map(({ taskId }) => taskId.requestId))];
    const requests = new Map(
      (await this.rows.requests.findMany(tx, requestIds)).map((found) => [found.request.id, found]),
    );
    const settings = await this.health.inForce(tx);
    return live.flatMap((task, index) => {
      const { requestId, deployId } = task.taskId;
      const stored = requests.get(requestId);
      const deploy = deploys.get(deployKeyText(task.taskId))?.deploy;
      if (!stored || !deploy) return [];
      const context = healthContext(deploy, stored.request, stored.pendingDeployId === deployId, settings);
      return { live: task, watched: watched[index]!, context, loadBalanced: stored.request.loadBalanced === true };
    });
  }
}
