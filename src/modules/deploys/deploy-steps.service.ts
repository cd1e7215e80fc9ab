import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { nextDeployStep, type DeployStep, type DeployView } from '../../core/deploys/index.js';
import type { PendingType } from '../../core/model/enums.js';
import type { WakeTopic } from '../../platform/wake/wake.js';
import { RequestStore, type StoredRequest } from '../requests/request-store.service.js';
import { HealthcheckResults } from '../tasks/health/healthcheck-results.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { TaskCleanups } from '../tasks/task-cleanups.service.js';
import { DeployFinisher } from './deploy-finisher.service.js';
import { DeployStore, type StoredPendingDeploy } from './deploy-store.service.js';
import { DeployViews } from './deploy-view.service.js';

export interface StepResult {
  /** Epoch milliseconds at which time alone changes the decision. */
  lookAgainAt?: number;
  /** Whom to wake after the commit. */
  wake: WakeTopic[];
}

type Step<Kind extends DeployStep['kind']> = Extract<DeployStep, { kind: Kind }>;

/** One step of one deploy: looks, decides, writes. Everything in the caller's transaction. */
@Injectable()
export class DeploySteps {
  constructor(
    private readonly requests: RequestStore,
    private readonly deploys: DeployStore,
    private readonly views: DeployViews,
    private readonly finisher: DeployFinisher,
    private readonly results: HealthcheckResults,
    private readonly queue: PendingQueue,
    private readonly cleanups: TaskCleanups,
  ) {}

  async step(tx: EntityManager, requestId: string, now: number): Promise<StepResult> {
    const stored = await this.requests.lock(tx, requestId);
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    if (!pending) return { wake: [] };
    const view = await this.views.load(tx, pending, stored);
    const step = nextDeployStep(view, now);
    switch (step.kind) {
      case 'wait':
        return this.wait(tx, pending, view, step, now);
      case 'proceed':
        return this.proceed(tx, pending, stored!, view, step, now);
      case 'finish':
        if (step.closeChecks) await this.results.finish(tx, newTaskIds(view));
        return this.finisher.finish(tx, stored, view, step.outcome, now);
    }
  }

  private async wait(
    tx: EntityManager,
    pending: StoredPendingDeploy,
    view: DeployView,
    step: Step<'wait'>,
    now: number,
  ): Promise<StepResult> {
    // Asked for the target that is in force already: answered.
    if (pending.updateTargetInstances !== undefined) {
      await this.deploys.savePending(tx, { ...pending, updateTargetInstances: undefined });
    }
    if (!step.scheduleMissing) return { lookAgainAt: step.lookAgainAt, wake: [] };
    await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.marker.deployId, now);
    return { lookAgainAt: step.lookAgainAt, wake: ['scheduler'] };
  }

  private async proceed(
    tx: EntityManager,
    pending: StoredPendingDeploy,
    stored: StoredRequest,
    view: DeployView,
    { progress, retire, schedule, lookAgainAt }: Step<'proceed'>,
    now: number,
  ): Promise<StepResult> {
    // A new version: placements decided on the former target are decided again.
    await this.requests.save(tx, stored);
    await this.deploys.savePending(tx, { ...pending, state: 'WAITING', progress, updateTargetInstances: undefined });
    if (schedule.includes('NEW')) await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.marker.deployId, now);
    if (schedule.includes('OLD') && view.activeDeployId) {
      await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.activeDeployId, now);
    }
    for (const taskId of retire) {
      const message = `Deploy ${view.marker.deployId} runs ${progress.targetActiveInstances} healthy tasks`;
      await this.cleanups.create(tx, { taskId, cleanupType: 'DEPLOY_STEP_FINISHED', timestamp: now, message });
    }
    return { lookAgainAt, wake: ['scheduler', 'cleanup'] };
  }

  private async enqueue(
    tx: EntityManager,
    { marker, deploy }: DeployView,
    pendingType: PendingType,
    deployId: string,
    now: number,
  ): Promise<void> {
    await this.queue.enqueue(tx, {
      requestId: marker.requestId,
      deployId,
      timestamp: now,
      user: marker.user,
      pendingType,
      skipHealthchecks: deployId === marker.deployId ? deploy?.skipHealthchecksOnDeploy : undefined,
      message: marker.message,
    });
  }
}

const newTaskIds = ({ tasks, marker }: DeployView): string[] =>
  tasks.filter(({ taskId }) => taskId.deployId === marker.deployId).map(({ taskId }) => taskId.id);
