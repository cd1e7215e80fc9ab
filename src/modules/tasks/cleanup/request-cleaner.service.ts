import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import {
  decideKills,
  decideRequestCleanup,
  type CleanupView,
  type RequestCleanupStep,
} from '../../../core/cleanup/index.js';
import type { Deploy } from '../../../core/model/deploy.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { TaskCleanup } from '../../../core/model/task.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { DeployStore } from '../../deploys/deploy-store.service.js';
import { LoadBalancerRecords } from '../../load-balancer/load-balancer-records.service.js';
import { LoadBalancerRemovals } from '../../load-balancer/load-balancer-removals.service.js';
import { LoadBalancer } from '../../load-balancer/load-balancer.js';
import { RequestCleanups } from '../../requests/request-cleanups.service.js';
import { RequestStore, type StoredRequest } from '../../requests/request-store.service.js';
import { HealthSwitch } from '../health/health-switch.service.js';
import { ObservedTasks } from '../health/observed-tasks.service.js';
import { LiveTasks } from '../live-tasks.service.js';
import { PendingQueue } from '../pending-queue.service.js';
import { BeforeKills } from '../shell-commands/before-kills.service.js';
import { TaskCleanups } from '../task-cleanups.service.js';
import { Bounces } from './bounces.service.js';
import { Kills } from './kills.service.js';
import { RequestRemoval } from './request-removal.service.js';

/** Carries out what was ordered for one request and for its tasks. Everything in the caller's transaction. */
@Injectable()
export class RequestCleaner {
  constructor(
    private readonly requests: RequestStore,
    private readonly deploys: DeployStore,
    private readonly tasks: LiveTasks,
    private readonly observed: ObservedTasks,
    private readonly requestCleanups: RequestCleanups,
    private readonly cleanups: TaskCleanups,
    private readonly beforeKills: BeforeKills,
    private readonly queue: PendingQueue,
    private readonly bounces: Bounces,
    private readonly kills: Kills,
    private readonly removal: RequestRemoval,
    private readonly loadBalancer: LoadBalancer,
    private readonly balancing: LoadBalancerRecords,
    private readonly leaving: LoadBalancerRemovals,
    private readonly health: HealthSwitch,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** true: something is to be killed, queued or told, or waits for a deploy to end. */
  async clean(tx: EntityManager, requestId: string, now: number): Promise<boolean> {
    const stored = await this.requests.lock(tx, requestId);
    let changed = false;
    for (const order of await this.requestCleanups.find(tx, requestId)) {
      const step = await this.carryOut(tx, order, stored, now);
      // With the request its other orders are gone.
      if (step.kind === 'remove') return true;
      changed ||= step.kind !== 'clean' || step.done || step.cleanups.length > 0;
    }
    const killed = await this.cleanTasks(tx, requestId, stored, now);
    const bounceEnded = await this.bounces.endIfOver(tx, requestId);
    return changed || killed || bounceEnded;
  }

  /** Orders for the whole request. */
  private async carryOut(
    tx: EntityManager,
    order: RequestCleanup,
    stored: StoredRequest | undefined,
    now: number,
  ): Promise<RequestCleanupStep> {
    const { requestId, cleanupType } = order;
    const killedFor = await this.kills.reasons(tx, requestId);
    const live = await this.tasks.find(tx, { requestIds: [requestId] });
    const step = decideRequestCleanup(
      order,
      {
        requestState: stored?.state,
        deploying: (await this.deploys.findPending(tx, [requestId])).length > 0,
        tasks: live.map(({ taskId, state, cleaning }) => ({
          taskId,
          state,
          cleanupType: cleaning,
          killedFor: killedFor.get(taskId.id),
        })),
        settings: this.settings,
      },
      now,
    );
    await this.apply(tx, order, stored, step, now);
    if (isDone(step)) await this.requestCleanups.remove(tx, requestId, [cleanupType]);
    return step;
  }

  private async apply(
    tx: EntityManager,
    order: RequestCleanup,
    stored: StoredRequest | undefined,
    step: RequestCleanupStep,
    now: number,
  ): Promise<void> {
    switch (step.kind) {
      case 'wait':
      case 'drop':
        return;
      case 'remove':
        return this.removal.remove(tx, order.requestId, stored, order, now);
      case 'clean':
        if (step.dropPendingTasks) {
          await tx.query('DELETE FROM pending_task WHERE request_id = $1', [order.requestId]);
        }
        for (const cleanup of step.cleanups) {
          if (step.overwrite) await this.cleanups.save(tx, cleanup);
          else await this.beforeKills.create(tx, cleanup, order.runShellCommandBeforeKill);
        }
        return;
      case 'bounce':
        for (const cleanup of step.cleanups)
          await this.beforeKills.create(tx, cleanup, order.runShellCommandBeforeKill);
        await this.queue.enqueue(tx, step.queue);
    }
  }

  /** Orders for single tasks: kills those that may go now, or has the load balancer let go of them first. */
  private async cleanTasks(
    tx: EntityManager,
    requestId: string,
    stored: StoredRequest | undefined,
    now: number,
  ): Promise<boolean> {
    const orders = new Map((await this.cleanups.ofRequest(tx, requestId)).map((order) => [order.taskId.id, order]));
    if (orders.size === 0) return false;
    const view = await this.view(tx, requestId, stored, orders, now);
    let changed = false;
    for (const { kind, cleanup } of decideKills(view, now)) {
      orders.delete(cleanup.taskId.id);
      if (kind === 'kill') await this.kills.decide(tx, cleanup, view.deploys.get(cleanup.taskId.deployId), now);
      if (kind === 'drop') await this.kills.dropCleanup(tx, cleanup);
      const begins = kind === 'leave' && (await this.leaving.add(tx, [cleanup.taskId.id], now)) > 0;
      changed ||= kind === 'kill' || begins;
    }
    // Of tasks that are in the history already.
    for (const order of orders.values()) await this.kills.dropCleanup(tx, order);
    return changed;
  }

  private async view(
    tx: EntityManager,
    requestId: string,
    stored: StoredRequest | undefined,
    orders: ReadonlyMap<string, TaskCleanup>,
    now: number,
  ): Promise<CleanupView> {
    const live = await this.tasks.find(tx, { requestIds: [requestId], includeEnded: true });
    const holding = await this.beforeKills.holding(tx, orders.values(), now);
    const watched = await this.observed.observe(tx, live);
    const balancing = await this.balancing.find(
      tx,
      live.map(({ taskId }) => taskId.id),
    );
    const ids = [...new Set(live.map(({ taskId }) => taskId.deployId))];
    const found = await this.deploys.findMany(
      tx,
      ids.map((deployId) => ({ requestId, deployId })),
    );
    return {
      request: stored?.request,
      requestState: stored?.state,
      activeDeployId: stored?.activeDeployId,
      pendingDeployId: stored?.pendingDeployId,
      deploys: new Map([...found.values()].map(({ deploy }): [string, Deploy] => [deploy.id, deploy])),
      loadBalanced: this.loadBalancer.enabled && stored?.request.loadBalanced === true,
      tasks: watched.map((task) => ({
        ...task,
        cleanup: orders.get(task.taskId.id),
        balancing: balancing.get(task.taskId.id),
        awaitsCommand: holding.has(task.taskId.id),
      })),
      settings: await this.health.inForce(tx),
    };
  }
}

const isDone = (step: RequestCleanupStep): boolean =>
  step.kind === 'drop' || step.kind === 'bounce' || (step.kind === 'clean' && step.done);
