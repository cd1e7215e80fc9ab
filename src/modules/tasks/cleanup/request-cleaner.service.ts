import { Inject, Injectable } from '@nestjs/common';
import {
  decideKills,
  decideRequestCleanup,
  deploysInUse,
  type CleanupView,
  type KillDecision,
  type RequestCleanupStep,
} from '../../../core/cleanup/index.js';
import type { Deploy } from '../../../core/model/deploy.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { TaskCleanup } from '../../../core/model/task.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { LoadBalancer } from '../../../platform/load-balancer/load-balancer.js';
import type { StoredRequest } from '../../requests/request.repository.js';
import { HealthSwitch } from '../health/health-switch.service.js';
import { BeforeKills } from '../shell-commands/before-kills.service.js';
import { RequestRemoval } from './request-removal.service.js';

/** Carries out what was ordered for one request and for its tasks. Everything in the caller's transaction. */
@Injectable()
export class RequestCleaner {
  constructor(
    private readonly rows: Rows,
    private readonly beforeKills: BeforeKills,
    private readonly removal: RequestRemoval,
    private readonly loadBalancer: LoadBalancer,
    private readonly health: HealthSwitch,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** true: something is to be killed, queued or told, or waits for a deploy to end. */
  async clean(tx: Transaction, requestId: string, now: number): Promise<boolean> {
    const stored = await this.rows.requests.lock(tx, requestId);
    let changed = false;
    for (const order of await this.rows.requestCleanups.find(tx, requestId)) {
      const step = await this.carryOut(tx, order, stored, now);
      // With the request its other orders are gone.
      if (step.kind === 'remove') return true;
      changed ||= step.kind !== 'clean' || step.done || step.cleanups.length > 0;
    }
    const killed = await this.cleanTasks(tx, requestId, stored, now);
    const bounceEnded = await this.endBounce(tx, requestId);
    return changed || killed || bounceEnded;
  }

  /** Orders for the whole request. */
  private async carryOut(
    tx: Transaction,
    order: RequestCleanup,
    stored: StoredRequest | undefined,
    now: number,
  ): Promise<RequestCleanupStep> {
    const { requestId, cleanupType } = order;
    const killedFor = await this.rows.killedTasks.reasons(tx, requestId);
    const live = await this.rows.tasks.find(tx, { requestIds: [requestId] });
    const step = decideRequestCleanup(
      order,
      {
        requestState: stored?.state,
        deploying: (await this.rows.deploys.findPending(tx, [requestId])).length > 0,
        deploysInUse: stored && deploysInUse(stored),
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
    if (isDone(step)) await this.rows.requestCleanups.remove(tx, requestId, [cleanupType]);
    return step;
  }

  private async apply(
    tx: Transaction,
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
          await this.rows.pendingTasks.removeAll(tx, order.requestId);
        }
        if (step.overwrite) await this.rows.taskCleanups.saveAll(tx, step.cleanups);
        else await this.beforeKills.createAll(tx, step.cleanups, order.runShellCommandBeforeKill);
        return;
      case 'bounce':
        await this.beforeKills.createAll(tx, step.cleanups, order.runShellCommandBeforeKill);
        await this.rows.pendingRequests.enqueue(tx, step.queue);
    }
  }

  /** Orders for single tasks: kills those that may go now, or has the load balancer let go of them first. */
  private async cleanTasks(
    tx: Transaction,
    requestId: string,
    stored: StoredRequest | undefined,
    now: number,
  ): Promise<boolean> {
    const orders = new Map(
      (await this.rows.taskCleanups.ofRequest(tx, requestId)).map((order) => [order.taskId.id, order]),
    );
    if (orders.size === 0) return false;
    const view = await this.view(tx, requestId, stored, orders, now);
    const decisions = decideKills(view, now);
    const of = (wanted: KillDecision['kind']) =>
      decisions.filter(({ kind }) => kind === wanted).map(({ cleanup }) => cleanup);
    const kills = of('kill').map((cleanup) => ({ cleanup, deploy: view.deploys.get(cleanup.taskId.deployId) }));
    await this.rows.killedTasks.decideAll(tx, kills, now);
    // Those of a bounce have worked on until now: proxies that follow the events hear of it before their port is closed.
    if (view.request?.requestType === 'SERVICE') await this.rows.outbox.leaving(tx, of('kill'));
    for (const { cleanup } of decisions) orders.delete(cleanup.taskId.id);
    // What is left over is of tasks that are in the history already.
    await this.rows.taskCleanups.remove(tx, [...of('kill'), ...of('drop'), ...orders.values()]);
    const leaving = of('leave').map(({ taskId }) => taskId.id);
    const begin = await this.rows.loadBalancerRemovals.add(tx, leaving, now);
    return kills.length > 0 || begin > 0;
  }

  /**
   * Ends a bounce for which no task waits any more, so that the request may be bounced again. true: one was under way
   * and is over.
   */
  private async endBounce(tx: Transaction, requestId: string): Promise<boolean> {
    const stored = await this.rows.requests.find(tx, requestId);
    if (!stored?.bouncing || (await this.rows.taskCleanups.isBounceUnderWay(tx, requestId))) return false;
    await this.rows.requests.save(tx, { ...stored, bouncing: false });
    await this.rows.expiringActions.remove(tx, 'BOUNCE', requestId);
    return true;
  }

  private async view(
    tx: Transaction,
    requestId: string,
    stored: StoredRequest | undefined,
    orders: ReadonlyMap<string, TaskCleanup>,
    now: number,
  ): Promise<CleanupView> {
    const live = await this.rows.tasks.find(tx, { requestIds: [requestId], includeEnded: true });
    const holding = await this.beforeKills.holding(tx, orders.values(), now);
    const watched = await this.rows.watchedTasks.observe(tx, live);
    const balancing = await this.rows.loadBalancerRecords.find(
      tx,
      live.map(({ taskId }) => taskId.id),
    );
    const loadBalanced = this.loadBalancer.enabled && stored?.request.loadBalanced === true;
    const leaving = loadBalanced ? await this.rows.loadBalancerRemovals.ofRequest(tx, requestId) : undefined;
    const givenUp = new Set(live.filter(({ mayRun }) => mayRun).map(({ taskId }) => taskId.id));
    const { activeDeployId, pendingDeployId } = stored ?? {};
    const inUse = [activeDeployId, pendingDeployId].filter((id) => id !== undefined);
    const ids = [...new Set([...live.map(({ taskId }) => taskId.deployId), ...inUse])];
    const found = await this.rows.deploys.findMany(
      tx,
      ids.map((deployId) => ({ requestId, deployId })),
    );
    return {
      request: stored?.request,
      requestState: stored?.state,
      activeDeployId,
      pendingDeployId,
      deploys: new Map([...found.values()].map(({ deploy }): [string, Deploy] => [deploy.id, deploy])),
      loadBalanced,
      tasks: watched.map((task) => ({
        ...task,
        cleanup: orders.get(task.taskId.id),
        mayRun: givenUp.has(task.taskId.id),
        balancing: balancing.get(task.taskId.id),
        isLeaving: leaving?.has(task.taskId.id),
        awaitsCommand: holding.has(task.taskId.id),
      })),
      settings: await this.health.inForce(tx),
    };
  }
}

const isDone = (step: RequestCleanupStep): boolean =>
  step.kind === 'drop' || step.kind === 'bounce' || (step.kind === 'clean' && step.done);
