import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DeployBalance, DeployView } from '../../core/deploys/index.js';
import type { BalancedTask, BalancerChange } from '../../core/load-balancer/index.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { TaskId } from '../../core/model/task.js';
import { LiveTasks, type LiveTask } from '../tasks/live-tasks.service.js';
import { deployKeyText, DeployStore } from './deploy-store.service.js';

/** Reads what a change of the load balancer is made of. */
@Injectable()
export class BalancerChanges {
  constructor(
    private readonly deploys: DeployStore,
    private readonly tasks: LiveTasks,
  ) {}

  /** undefined: the request or the deploy that describes the service is gone. */
  async load(tx: EntityManager, view: DeployView, balance: DeployBalance): Promise<BalancerChange | undefined> {
    const { added, removed, isRevert } = balance;
    const taskIds = [...added, ...removed];
    const active = { requestId: view.marker.requestId, deployId: view.activeDeployId ?? '' };
    const found = await this.deploys.findMany(tx, distinct([...taskIds, active]));
    const deployOf = (key: { requestId: string; deployId: string }) => found.get(deployKeyText(key))?.deploy;
    // A service that takes old tasks back is that of the old deploy again, and of the request as it was.
    const request = isRevert ? view.request : (view.updatedRequest ?? view.request);
    const deploy = isRevert ? deployOf(active) : view.deploy;
    if (!request || !deploy) return undefined;
    const live = await this.tasks.find(tx, { taskIds: taskIds.map(({ id }) => id), includeEnded: true });
    const byId = new Map(live.map((task) => [task.taskId.id, task]));
    const balanced = (ids: readonly TaskId[]) =>
      ids.flatMap((taskId) => balancedTask(byId.get(taskId.id), deployOf(taskId)) ?? []);
    return { request, deploy, add: balanced(added), remove: balanced(removed) };
  }
}

const distinct = (keys: readonly { requestId: string; deployId: string }[]) => [
  ...new Map(keys.map((key) => [deployKeyText(key), key])).values(),
];

const balancedTask = (task: LiveTask | undefined, deploy: Deploy | undefined): BalancedTask | undefined =>
  task && deploy && { taskId: task.taskId, host: task.host, rackId: task.rackId, ports: task.ports, deploy };
