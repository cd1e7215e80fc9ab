import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { finishDeploy, type DeployOutcome, type DeploySnapshot, type FinishContext } from '../../core/deploys/index.js';
import { deployKeyText, type DeployMarker } from '../../core/model/deploy.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from '../requests/request.repository.js';
import type { StepResult } from './step-result.js';

/** Writes everything that the end of a deploy changes. */
@Injectable()
export class DeployFinisher {
  constructor(private readonly rows: Rows) {}

  /** `stored`: the request's row, locked in `tx`; undefined when it is gone. */
  async finish(
    tx: Transaction,
    stored: StoredRequest | undefined,
    view: DeploySnapshot,
    outcome: DeployOutcome,
    now: number,
  ): Promise<StepResult> {
    const { marker } = view;
    const told = await this.withReason(tx, marker, outcome);
    const plan = finishDeploy(view, told, await this.surroundings(tx, view), now);
    if (stored && plan.request) {
      await this.rows.requests.save(tx, {
        ...stored,
        request: plan.request.document,
        state: plan.request.state,
        changedAt: now,
        activeDeployId: plan.request.activeDeployId,
        pendingDeployId: undefined,
        bouncing: stored.bouncing && !plan.request.endBounce,
      });
    }
    await this.rows.deploys.removePending(tx, marker.requestId);
    if (view.gates) await this.rows.deployGates.cancelOpen(tx, marker, now);
    if (plan.dropOtherPendingTasks) {
      await this.rows.pendingTasks.removeOfOtherDeploys(tx, marker.requestId, marker.deployId);
    }
    await this.rows.taskCleanups.saveAll(tx, plan.cleanups);
    await this.rows.pendingRequests.enqueueAll(tx, plan.pendingRequests);
    await this.rows.expiringActions.removeKinds(tx, plan.dropExpiring, marker.requestId);
    // Two at most.
    for (const event of plan.history) await this.rows.requestHistory.record(tx, event);
    await this.rows.deploys.saveResult(tx, marker, plan.result);
    await this.rows.outbox.deploy(tx, {
      deployMarker: marker,
      deploy: view.deploy,
      eventType: 'FINISHED',
      deployResult: plan.result,
    });
    // Its ended tasks were kept from the history while it was in progress.
    return { wake: ['scheduler', 'cleanup', 'webhooks', 'history'], ended: { marker, result: plan.result } };
  }

  /** Adds to the outcome of a deploy that was late because tasks could not be placed what they waited for. */
  private async withReason(tx: Transaction, marker: DeployMarker, outcome: DeployOutcome): Promise<DeployOutcome> {
    if (outcome.deployState !== 'OVERDUE') return outcome;
    const why = (await this.rows.pendingTasks.whyWaiting(tx, [marker])).get(deployKeyText(marker));
    if (why === undefined) return outcome;
    const told = (text: string | undefined): string => `${text}. ${why}`;
    const deployFailures = outcome.deployFailures.map((failure) =>
      failure.reason === 'TASK_COULD_NOT_BE_SCHEDULED' ? { ...failure, message: told(failure.message) } : failure,
    );
    return { ...outcome, message: told(outcome.message), deployFailures };
  }

  private async surroundings(tx: Transaction, { marker }: DeploySnapshot): Promise<FinishContext> {
    return { pendingTaskCount: await this.rows.pendingTasks.wantedCount(tx, marker.requestId), newRunId: randomUUID };
  }
}
