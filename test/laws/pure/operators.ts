import { firstProgress, runWith } from '../../../src/core/deploys/index.js';
import type { Deploy } from '../../../src/core/model/deploy.js';
import { isLongRunning, type MachineState, type PendingType, promisedTypes } from '../../../src/core/model/enums.js';
import { instancesOf, type Request, type RequestCleanup } from '../../../src/core/model/request.js';
import {
  refuseBounce,
  refuseExitCooldown,
  refusePause,
  refuseSecondBounce,
  refuseUnpause,
  refuseUpdate,
  type RequestFacts,
} from '../../../src/core/requests/action-rules.js';
import { changesWork, stateAfterUpdate, surplusTasks } from '../../../src/core/requests/changes.js';
import { decideRun } from '../../../src/core/requests/run-now.js';
import type { StoredRequest } from '../../../src/modules/requests/request.repository.js';
import type { Answer, Operators } from '../world/world.js';
import { changeMachine } from './machines.js';
import type { Model } from './model.js';

/** Orders of people by the rules of the core, written into the tables as the rooms do. */
export class PureOperators implements Operators {
  constructor(private readonly model: Model) {}

  async create(request: Request, deploy: Deploy): Promise<Answer> {
    this.tables.requests.set(request.id, {
      request,
      state: 'ACTIVE',
      version: 1,
      changedAt: this.now,
      bouncing: false,
    });
    return this.deploy(deploy);
  }

  async deploy(deploy: Deploy): Promise<Answer> {
    const { requestId, id: deployId } = deploy;
    const stored = this.tables.requests.get(requestId);
    if (!stored || this.tables.pendingDeploys.has(requestId)) return 'REFUSED';
    if (stored.state === 'DELETING' || stored.state === 'PAUSED') return 'REFUSED';
    const { request } = stored;
    const rollsOut = isLongRunning(request.requestType);
    this.tables.deploys.set(`${requestId}-${deployId}`, deploy);
    this.tables.save({
      ...stored,
      activeDeployId: rollsOut ? stored.activeDeployId : deployId,
      pendingDeployId: rollsOut ? deployId : undefined,
    });
    if (!rollsOut && request.requestType !== 'RUN_ONCE') this.moveRuns(requestId, deployId);
    const progress = firstProgress(request, deploy, this.model.settings, this.now);
    this.tables.pendingDeploys.set(requestId, { requestId, deployId, state: 'WAITING', progress });
    if (rollsOut) this.enqueue(requestId, deployId, 'NEW_DEPLOY');
    return 'DONE';
  }

  async cancelDeploy(requestId: string): Promise<Answer> {
    const pending = this.tables.pendingDeploys.get(requestId);
    if (!pending || this.tables.requests.get(requestId)?.pendingDeployId === undefined) return 'REFUSED';
    const cancel = pending.cancel ?? { requestedAt: this.now };
    this.tables.save(this.tables.requests.get(requestId)!);
    this.tables.pendingDeploys.set(requestId, { ...pending, cancel });
    return 'DONE';
  }

  scale(requestId: string, instances: number): Promise<Answer> {
    return this.on(requestId, (stored, facts) => {
      if (!isLongRunning(stored.request.requestType)) return false;
      if (instancesOf(stored.request) === instances || refuseUpdate(facts)) return false;
      const next = { ...stored.request, instances };
      const workChanged = changesWork(stored.request, next);
      const state = stateAfterUpdate(stored.state, workChanged);
      const saved = this.tables.save({ ...stored, request: next, state, changedAt: this.now });
      const active = this.tables
        .tasksOf(requestId)
        .map(({ taskId }) => taskId)
        .filter(({ deployId }) => deployId === stored.activeDeployId);
      for (const taskId of surplusTasks(stored.request, next, active)) {
        this.tables.order({ taskId, cleanupType: 'SCALING_DOWN', timestamp: this.now });
      }
      const deployId = inUse(saved);
      if (workChanged && deployId !== undefined) this.enqueue(requestId, deployId, 'UPDATED_REQUEST');
      return true;
    });
  }

  pause(requestId: string, killTasks: boolean): Promise<Answer> {
    return this.on(requestId, (stored, facts) => {
      if (refusePause(facts)) return false;
      this.orderRequest({ requestId, cleanupType: 'PAUSING', timestamp: this.now, killTasks });
      for (const type of ['BOUNCE', 'INCREMENTAL_BOUNCE']) this.tables.requestCleanups.delete(`${requestId} ${type}`);
      this.tables.save({ ...stored, state: 'PAUSED', bouncing: false, changedAt: this.now });
      return true;
    });
  }

  unpause(requestId: string): Promise<Answer> {
    return this.on(requestId, (stored, facts) => {
      if (refuseUnpause(facts)) return false;
      this.awaken(stored, 'UNPAUSED');
      return true;
    });
  }

  exitCooldown(requestId: string): Promise<Answer> {
    return this.on(requestId, (stored, facts) => {
      if (refuseExitCooldown(facts)) return false;
      this.awaken(stored, 'IMMEDIATE');
      return true;
    });
  }

  bounce(requestId: string, incremental: boolean): Promise<Answer> {
    return this.on(requestId, (stored, facts) => {
      if (refuseBounce(facts) ?? refuseSecondBounce(facts)) return false;
      const cleanupType = incremental ? 'INCREMENTAL_BOUNCE' : 'BOUNCE';
      const actionId = `bounce at ${this.now}`;
      const order = { requestId, deployId: inUse(stored), cleanupType, timestamp: this.now, actionId } as const;
      if (!this.orderRequest(order)) return false;
      this.tables.save({ ...stored, state: 'ACTIVE', bouncing: true, changedAt: this.now });
      return true;
    });
  }

  run(requestId: string, runId: string): Promise<Answer> {
    return this.on(requestId, (_stored, facts) => {
      const queued = [...this.tables.queue.values()].filter(
        (entry) => entry.requestId === requestId && entry.pendingType === 'ONEOFF',
      );
      const decision = decideRun(
        {},
        {
          ...facts,
          activeTasks: this.tables.tasksOf(requestId).length,
          waitingTasks: this.tables.pendingOf(requestId).length + queued.length,
          numPorts: 0,
        },
      );
      if (decision.kind === 'refuse') return false;
      const { deployId, pendingType } = decision;
      return this.tables.enqueue({ requestId, deployId, pendingType, runId, timestamp: this.now });
    });
  }

  delete(requestId: string): Promise<Answer> {
    return this.on(requestId, (stored) => {
      this.orderRequest({ requestId, cleanupType: 'DELETING', timestamp: this.now, killTasks: true });
      if (stored.state !== 'DELETING') this.tables.save({ ...stored, state: 'DELETING', changedAt: this.now });
      return true;
    });
  }

  async kill(taskId: string, how: 'PLAIN' | 'REPLACED' | 'AT_ONCE'): Promise<Answer> {
    const task = this.tables.tasks.get(taskId);
    if (!task) return 'REFUSED';
    const cleanupType =
      how === 'AT_ONCE'
        ? 'USER_REQUESTED_DESTROY'
        : how === 'REPLACED'
          ? 'USER_REQUESTED_TASK_BOUNCE'
          : 'USER_REQUESTED';
    const cleanup = { taskId: task.taskId, cleanupType, timestamp: this.now } as const;
    if (!this.tables.order(cleanup, how === 'AT_ONCE')) return 'REFUSED';
    if (how === 'REPLACED') this.enqueue(task.taskId.requestId, task.taskId.deployId, 'TASK_BOUNCE');
    return 'DONE';
  }

  async changeMachine(slaveId: string, to: MachineState): Promise<Answer> {
    return changeMachine(this.model, slaveId, to) ? 'DONE' : 'REFUSED';
  }

  private get tables(): Model['tables'] {
    return this.model.tables;
  }
  private get now(): number {
    return this.model.now();
  }

  private async on(requestId: string, act: (stored: StoredRequest, facts: RequestFacts) => boolean): Promise<Answer> {
    const stored = this.tables.requests.get(requestId);
    if (!stored) return 'REFUSED';
    const facts: RequestFacts = {
      request: stored.request,
      state: stored.state,
      cleanups: this.tables.requestCleanupsOf(requestId).map(({ cleanupType }) => cleanupType),
      deployInUse: inUse(stored),
      bouncing: stored.bouncing,
      deployChangesRequest: false,
    };
    return act(stored, facts) ? 'DONE' : 'REFUSED';
  }

  private awaken(stored: StoredRequest, pendingType: PendingType): void {
    const { request } = stored;
    this.tables.save({ ...stored, state: 'ACTIVE', changedAt: this.now });
    const deployId = inUse(stored);
    if (deployId !== undefined && request.requestType !== 'ON_DEMAND') this.enqueue(request.id, deployId, pendingType);
  }

  private enqueue(requestId: string, deployId: string, pendingType: PendingType): void {
    this.tables.enqueue({ requestId, deployId, pendingType, timestamp: this.now });
  }

  private orderRequest(order: RequestCleanup): boolean {
    const key = `${order.requestId} ${order.cleanupType}`;
    if (this.tables.requestCleanups.has(key)) return false;
    this.tables.requestCleanups.set(key, order);
    return true;
  }

  /** Runs that were promised run with the new deploy. */
  private moveRuns(requestId: string, deployId: string): void {
    for (const [key, entry] of this.tables.queue) {
      if (entry.requestId !== requestId || entry.deployId === deployId) continue;
      if (!promisedTypes.includes(entry.pendingType)) continue;
      this.tables.queue.delete(key);
      this.tables.enqueue({ ...entry, deployId });
    }
    for (const task of this.tables.pendingOf(requestId)) {
      const { id, pendingType } = task.pendingTaskId;
      if (task.pendingTaskId.deployId === deployId || !promisedTypes.includes(pendingType)) continue;
      this.tables.pendingTasks.delete(id);
      this.tables.enqueue(runWith(deployId, task));
    }
  }
}

const inUse = ({ activeDeployId, pendingDeployId }: StoredRequest): string | undefined =>
  activeDeployId ?? pendingDeployId;
