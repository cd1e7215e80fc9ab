import { Injectable } from '@nestjs/common';
import { healthContext, isWell, type HealthContext } from '../../core/health/index.js';
import { isInLoadBalancer } from '../../core/load-balancer/index.js';
import { type Deploy, deployKeyText } from '../../core/model/deploy.js';
import type { TaskIdsByStatus } from '../../core/model/request.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { HealthSwitch } from './health/health-switch.service.js';
import { unchecked, type JudgedTask, type WatchedTask } from './health/watched-task.repository.js';

/** Requests with their tasks, read at one moment. */
export interface TasksOfRequests {
  /** By id. */
  requests: ReadonlyMap<string, StoredRequest>;
  /** Some of the deploys of their tasks, by deployKeyText; the others are read. */
  deploys: ReadonlyMap<string, Deploy>;
  /** In the order in which they are due. */
  waiting: readonly PendingTaskId[];
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
    private readonly rows: Rows,
    private readonly clock: Clock,
    private readonly health: HealthSwitch,
  ) {}

  /** Every id asked for has an entry, an empty one when the request is unknown. */
  async forRequests(tx: Queryable, requestIds: readonly string[]): Promise<Map<string, TaskIdsByStatus>> {
    const found = await this.rows.requests.findMany(tx, requestIds);
    const requests = new Map(found.map((stored) => [stored.request.id, stored]));
    const waiting = await this.rows.pendingTasks.idsOf(tx, requestIds);
    const tasks = await this.rows.tasks.find(tx, { requestIds });
    return this.sort(tx, requestIds, { requests, deploys: new Map(), waiting, tasks });
  }

  /**
   * Sorts tasks that were read already. Nothing more is read where no task has health checks, a load balancer or an
   * older deploy.
   */
  async sort(
    tx: Queryable,
    requestIds: readonly string[],
    { requests, deploys: known, waiting, tasks }: TasksOfRequests,
  ): Promise<Map<string, TaskIdsByStatus>> {
    const result = new Map(requestIds.map((id) => [id, noTaskIds()]));
    for (const id of waiting) result.get(id.requestId)!.pending.push(id);
    if (tasks.length === 0) return result;
    const deploys = await this.deploysOf(tx, tasks, known);
    const isChecked = ({ taskId }: JudgedTask): boolean => Boolean(deploys.get(deployKeyText(taskId))?.healthcheck);
    const checked = tasks.filter(isChecked);
    const watched = [
      ...(await this.rows.watchedTasks.observe(tx, checked)),
      ...tasks.filter((task) => !isChecked(task)).map(unchecked),
    ].sort(byId);
    const settings = checked.length > 0 ? await this.health.inForce(tx) : this.health.unlessSwitched;
    for (const task of watched) {
      const { taskId } = task;
      const deploy = deploys.get(deployKeyText(taskId));
      result.get(taskId.requestId)![this.status(task, requests.get(taskId.requestId), deploy, settings)].push(taskId);
    }
    await this.addLoadBalanced(tx, requests, result);
    return result;
  }

  /** Adds the tasks that get traffic, as far as it is known. */
  private async addLoadBalanced(
    tx: Queryable,
    requests: ReadonlyMap<string, StoredRequest>,
    result: ReadonlyMap<string, TaskIdsByStatus>,
  ): Promise<void> {
    const balanced = [...result].filter(([id]) => requests.get(id)?.request.loadBalanced).map(([, lists]) => lists);
    const shownOf = ({ healthy, cleaning }: TaskIdsByStatus) => [...healthy, ...cleaning];
    const records = await this.rows.loadBalancerRecords.find(
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
    return isWell(task, context, this.clock.now()) ? 'healthy' : 'notYetHealthy';
  }

  private async deploysOf(
    tx: Queryable,
    tasks: readonly JudgedTask[],
    known: ReadonlyMap<string, Deploy>,
  ): Promise<ReadonlyMap<string, Deploy>> {
    const keys = new Map(tasks.map(({ taskId }) => [deployKeyText(taskId), taskId]));
    const others = [...keys].filter(([key]) => !known.has(key)).map(([, taskId]) => taskId);
    if (others.length === 0) return known;
    const found = await this.rows.deploys.findMany(tx, others);
    return new Map([...known, ...[...found].map(([key, { deploy }]): [string, Deploy] => [key, deploy])]);
  }
}

const byId = (a: WatchedTask, b: WatchedTask): number => (a.taskId.id < b.taskId.id ? -1 : 1);
