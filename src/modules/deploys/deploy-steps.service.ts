import { Injectable } from '@nestjs/common';
import {
  nextDeployStep,
  type AcceptanceResult,
  type DeployStep,
  type DeploySnapshot,
} from '../../core/deploys/index.js';
import type { PendingType } from '../../core/model/enums.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { Transaction } from '../../platform/database/transaction.js';
import type { WakeTopic } from '../../platform/wake/wake.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { Rows } from '../../rows.js';
import { DeployAcceptance, type AcceptanceJob } from './deploy-acceptance.service.js';
import { DeployBalancing, type BalancerJob } from './deploy-balancing.service.js';
import { DeployFinisher } from './deploy-finisher.service.js';
import type { StoredPendingDeploy } from './deploy.repository.js';
import { DeployViews } from './deploy-view.service.js';
import type { OutsideJob, StepResult } from './step-result.js';

/** Answer to an OutsideJob. */
type OutsideAnswer =
  | { kind: 'balance'; job: BalancerJob; answer: LoadBalancerUpdate }
  | { kind: 'check'; job: AcceptanceJob; answer: AcceptanceResult[] };

type Step<Kind extends DeployStep['kind']> = Extract<DeployStep, { kind: Kind }>;

/** One step of one deploy: looks, decides, writes. Everything in the caller's transaction. */
@Injectable()
export class DeploySteps {
  constructor(
    private readonly rows: Rows,
    private readonly views: DeployViews,
    private readonly finisher: DeployFinisher,
    private readonly balancing: DeployBalancing,
    private readonly acceptance: DeployAcceptance,
  ) {}

  async step(tx: Transaction, requestId: string, now: number): Promise<StepResult> {
    return this.stepLocked(tx, requestId, await this.rows.requests.lock(tx, requestId), now);
  }

  /** Asks outside the product. Not in a transaction. */
  async ask(job: OutsideJob): Promise<OutsideAnswer> {
    return job.kind === 'balance'
      ? { kind: 'balance', job, answer: await this.balancing.ask(job) }
      : { kind: 'check', job, answer: await this.acceptance.run(job) };
  }

  /** Keeps what was answered, if it still matters, and looks at the deploy again. */
  async answered(tx: Transaction, requestId: string, said: OutsideAnswer, now: number): Promise<StepResult> {
    const stored = await this.rows.requests.lock(tx, requestId);
    const matters =
      said.kind === 'balance'
        ? await this.balancing.store(tx, requestId, said.job, said.answer)
        : await this.acceptance.store(tx, requestId, said.job, said.answer, now);
    return matters ? this.stepLocked(tx, requestId, stored, now) : { checkAgainAt: now, wake: [] };
  }

  private async stepLocked(
    tx: Transaction,
    requestId: string,
    stored: StoredRequest | undefined,
    now: number,
  ): Promise<StepResult> {
    const [pending] = await this.rows.deploys.findPending(tx, [requestId]);
    if (!pending) return { wake: [] };
    const view = await this.views.load(tx, pending, stored);
    const step = nextDeployStep(view, now);
    switch (step.kind) {
      case 'wait':
        return this.wait(tx, pending, view, step, now);
      case 'proceed':
        return this.proceed(tx, pending, stored!, view, step, now);
      case 'balance':
        return { wake: [], outside: { kind: 'balance', ...(await this.balancing.prepare(tx, pending, view, step)) } };
      case 'check':
        return { wake: [], outside: { kind: 'check', ...this.acceptance.prepare(pending, view, step.names) } };
      case 'gate':
        await this.rows.deployGates.save(tx, pending, step.row);
        return withWake(await this.stepLocked(tx, requestId, stored, now), 'gates');
      case 'finish':
        if (step.closeChecks) await this.rows.taskHealthchecks.finish(tx, newTaskIds(view));
        await this.balancing.keep(tx, step.stillBalanced);
        return this.finisher.finish(tx, stored, view, step.outcome, now);
    }
  }

  private async wait(
    tx: Transaction,
    pending: StoredPendingDeploy,
    view: DeploySnapshot,
    { checkAgainAt, scheduleMissing, state = pending.state, keepsUpdate }: Step<'wait'>,
    now: number,
  ): Promise<StepResult> {
    // Asked for the target that is in force already: answered.
    const updateTargetInstances = keepsUpdate ? pending.updateTargetInstances : undefined;
    if (pending.updateTargetInstances !== updateTargetInstances || pending.state !== state) {
      await this.rows.deploys.changePending(tx, { ...pending, state, updateTargetInstances });
    }
    if (!scheduleMissing) return { checkAgainAt, wake: [] };
    await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.marker.deployId, now);
    return { checkAgainAt, wake: ['scheduler'] };
  }

  private async proceed(
    tx: Transaction,
    pending: StoredPendingDeploy,
    stored: StoredRequest,
    view: DeploySnapshot,
    { progress, retire, schedule, checkAgainAt }: Step<'proceed'>,
    now: number,
  ): Promise<StepResult> {
    // A new version: placements decided on the former target are decided again.
    await this.rows.requests.save(tx, stored);
    await this.rows.deploys.changePending(tx, {
      ...pending,
      state: 'WAITING',
      progress,
      updateTargetInstances: undefined,
    });
    if (schedule.includes('NEW')) await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.marker.deployId, now);
    if (schedule.includes('OLD') && view.activeDeployId) {
      await this.enqueue(tx, view, 'NEXT_DEPLOY_STEP', view.activeDeployId, now);
    }
    const message = `Deploy ${view.marker.deployId} runs ${progress.currentActiveInstances} healthy tasks`;
    await this.rows.taskCleanups.createAll(
      tx,
      retire.map((taskId) => ({ taskId, cleanupType: 'DEPLOY_STEP_FINISHED', timestamp: now, message })),
    );
    return { checkAgainAt, wake: ['scheduler', 'cleanup'] };
  }

  private async enqueue(
    tx: Transaction,
    { marker, deploy }: DeploySnapshot,
    pendingType: PendingType,
    deployId: string,
    now: number,
  ): Promise<void> {
    await this.rows.pendingRequests.enqueue(tx, {
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

const withWake = (result: StepResult, topic: WakeTopic): StepResult => ({ ...result, wake: [...result.wake, topic] });

const newTaskIds = ({ tasks, marker }: DeploySnapshot): string[] =>
  tasks.filter(({ taskId }) => taskId.deployId === marker.deployId).map(({ taskId }) => taskId.id);
