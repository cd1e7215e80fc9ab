import { Injectable } from '@nestjs/common';
import { healthContext, judgeTask, type HealthContext } from '../../core/health/index.js';
import { isInLoadBalancer } from '../../core/load-balancer/index.js';
import { type Deploy, deployKeyText } from '../../core/model/deploy.js';
import type { TaskIdsByStatus } from '../../core/model/request.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { DeployRepository, type StoredDeploy } from '../deploys/deploy.repository.js';
import { LoadBalancerRecordRepository } from '../load-balancer/load-balancer-record.repository.js';
import { RequestRepository, type StoredRequest } from '../requests/request.repository.js';
import { HealthSwitch } from './health/health-switch.service.js';
import {
  unchecked,
  WatchedTaskRepository,
  type JudgedTask,
  type WatchedTask,
} from './health/watched-task.repository.js';
import { PendingTaskRepository } from './pending-task.repository.js';
import { TaskRepository, type LiveTask } from './task.repository.js';

/** What was read already, in the same transaction. */
export interface KnownRows {
  /** All requests asked for, by id. */
  requests?: ReadonlyMap<string, StoredRequest>;
  /** Some of their deploys, by deployKeyText. */
  deploys?: ReadonlyMap<string, StoredDeploy>;
}

/** Tasks that were read already, of deploys without health checks that are known as well. */
export interface KnownTasks extends Required<KnownRows> {
  pending: readonly PendingTaskId[];
  tasks: readonly JudgedTask[];
}

export const noTaskIds = (): TaskIdsByStatus => ({
  healthy: [],
  notYetHealthy: [],
  pending: [],
  cleaning: [],
  loadBalanced: [],
  killed: [],
});

/** Sorts the tasks of requests by how they are doing, for many requests in a few queries. */
@Injectable()
export class TaskIdsByStatusService {
  constructor(
    private readonly requests: RequestRepository,
    private readonly deploys: DeployRepository,
    private readonly tasks: TaskRepository,
    private readonly pending: PendingTaskRepository,
    private readonly watched: WatchedTaskRepository,
    private readonly clock: Clock,
    private readonly health: HealthSwitch,
    private readonly balancing: LoadBalancerRecordRepository,
  ) {}

  /** Every id asked for has an entry, an empty one when the request is unknown. */
  async forRequests(
    tx: Queryable,
    requestIds: readonly string[],
    known: KnownRows = {},
  ): Promise<Map<string, TaskIdsByStatus>> {
    const result = new Map(requestIds.map((id) => [id, noTaskIds()]));
    if (requestIds.length === 0) return result;
    for (const id of await this.pending.idsOf(tx, requestIds)) result.get(id.requestId)!.pending.push(id);
    const tasks = await this.tasks.find(tx, { requestIds });
    if (tasks.length === 0) return result;
    const deploys = await this.deploysOf(tx, tasks, known.deploys);
    const deployOf = (task: { taskId: WatchedTask['taskId'] }) => deploys.get(deployKeyText(task.taskId));
    const checked = tasks.filter((task) => deployOf(task)?.healthcheck);
    const watched = [
      ...(await this.watched.observe(tx, checked)),
      ...tasks.filter((task) => !deployOf(task)?.healthcheck).map(unchecked),
    ].sort(byId);
    const requests = known.requests ?? (await this.requestsById(tx, requestIds));
    const settings = await this.health.inForce(tx);
    for (const task of watched) {
      const lists = result.get(task.taskId.requestId)!;
      lists[this.status(task, requests.get(task.taskId.requestId), deployOf(task), settings)].push(task.taskId);
    }
    await this.addLoadBalanced(tx, requests, result);
    return result;
  }

  /** The same from rows alone, of requests without load balancer. */
  ofKnown({ requests, deploys, pending, tasks }: KnownTasks): Map<string, TaskIdsByStatus> {
    const result = new Map([...requests.keys()].map((id) => [id, noTaskIds()]));
    for (const id of pending) result.get(id.requestId)!.pending.push(id);
    for (const task of tasks.map(unchecked).sort(byId)) {
      const { taskId } = task;
      const deploy = deploys.get(deployKeyText(taskId))?.deploy;
      const status = this.status(task, requests.get(taskId.requestId), deploy, this.health.unlessSwitched);
      result.get(taskId.requestId)![status].push(taskId);
    }
    return result;
  }

  /** Those that get traffic, as far as it is known. */
  private async addLoadBalanced(
    tx: Queryable,
    requests: ReadonlyMap<string, StoredRequest>,
    result: ReadonlyMap<string, TaskIdsByStatus>,
  ): Promise<void> {
    const balanced = [...result].filter(([id]) => requests.get(id)?.request.loadBalanced).map(([, lists]) => lists);
    const shownOf = ({ healthy, cleaning }: TaskIdsByStatus) => [...healthy, ...cleaning];
    const records = await this.balancing.find(
      tx,
      balanced.flatMap(shownOf).map(({ id }) => id),
    );
    for (const lists of balanced) {
      lists.loadBalanced = shownOf(lists).filter(({ id }) => isInLoadBalancer(records.get(id)!));
    }
  }

  private status(
    task: WatchedTask,
    stored: StoredRequest | undefined,
    deploy: Deploy | undefined,
    settings: HealthContext['settings'],
  ): 'cleaning' | 'killed' | 'healthy' | 'notYetHealthy' {
    if (task.cleanupType) return 'cleaning';
    if (task.killed) return 'killed';
    if (!deploy) return 'notYetHealthy';
    const deployPending = stored?.pendingDeployId === task.taskId.deployId;
    const context = healthContext(deploy, stored?.request, deployPending, settings);
    return judgeTask(task, context, this.clock.now()) === 'HEALTHY' ? 'healthy' : 'notYetHealthy';
  }

  private async requestsById(tx: Queryable, ids: readonly string[]): Promise<Map<string, StoredRequest>> {
    return new Map((await this.requests.findMany(tx, ids)).map((found) => [found.request.id, found]));
  }

  private async deploysOf(
    tx: Queryable,
    tasks: readonly LiveTask[],
    known: ReadonlyMap<string, StoredDeploy> = new Map(),
  ): Promise<Map<string, Deploy>> {
    const keys = new Map(tasks.map(({ taskId }) => [deployKeyText(taskId), taskId]));
    const others = [...keys].filter(([key]) => !known.has(key)).map(([, taskId]) => taskId);
    const found = [...known, ...(await this.deploys.findMany(tx, others))];
    return new Map(found.map(([key, { deploy }]) => [key, deploy]));
  }
}

const byId = (a: WatchedTask, b: WatchedTask): number => (a.taskId.id < b.taskId.id ? -1 : 1);
