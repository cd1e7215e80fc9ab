import { Injectable } from '@nestjs/common';
import { balancerServiceId, type BalancedTask } from '../../core/load-balancer/index.js';
import { type Deploy, type DeployKey, deployKeyText } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Rows } from '../../rows.js';
import type { LiveTask } from '../tasks/task.repository.js';

/** A task with what describes its service to the load balancer. */
export interface ServedTask {
  task: BalancedTask;
  /** Once it is gone: as it was when the task was launched. */
  request: Request;
  /**
   * Describes the service. The active deploy, where it is about the same service: the end of an old task must not bring
   * back the description of its deploy.
   */
  deploy: Deploy;
}

/** Reads tasks as the load balancer is told about them. */
@Injectable()
export class BalancedTasks {
  constructor(private readonly rows: Rows) {}

  /** By task id. Tasks of which too little is left are left out. */
  async load(tx: Queryable, tasks: readonly LiveTask[]): Promise<Map<string, ServedTask>> {
    if (tasks.length === 0) return new Map();
    const requestIds = [...new Set(tasks.map(({ taskId }) => taskId.requestId))];
    const stored = new Map(
      (await this.rows.requests.findMany(tx, requestIds)).map((found) => [found.request.id, found]),
    );
    const activeKeys = [...stored.values()].flatMap(({ request, activeDeployId }): DeployKey[] =>
      activeDeployId ? [{ requestId: request.id, deployId: activeDeployId }] : [],
    );
    const keys = new Map([...tasks.map(({ taskId }) => taskId), ...activeKeys].map((key) => [deployKeyText(key), key]));
    const deploys = await this.rows.deploys.findMany(tx, [...keys.values()]);
    const launchedFor = await this.rows.tasks.requestsAtLaunch(
      tx,
      tasks.map(({ taskId }) => taskId.id),
    );
    const served = new Map<string, ServedTask>();
    for (const { taskId, host, rackId, ports } of tasks) {
      const { requestId } = taskId;
      const own = deploys.get(deployKeyText(taskId))?.deploy;
      const request = stored.get(requestId)?.request ?? launchedFor.get(taskId.id);
      if (!own || !request) continue;
      const activeDeployId = stored.get(requestId)?.activeDeployId;
      const active = activeDeployId && deploys.get(deployKeyText({ requestId, deployId: activeDeployId }))?.deploy;
      const isSameService = active && balancerServiceId(requestId, active) === balancerServiceId(requestId, own);
      const task = { taskId, host, rackId, ports, deploy: own };
      served.set(taskId.id, { task, request, deploy: isSameService ? active : own });
    }
    return served;
  }
}
