import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import {
  finishDeploy,
  type DeployOutcome,
  type DeployView,
  type FinishSurroundings,
} from '../../core/deploys/index.js';
import { rows } from '../../platform/database/sql.js';
import { ExpiringActions } from '../requests/expiring/expiring-actions.service.js';
import { RequestHistoryService } from '../requests/request-history.service.js';
import { RequestStore, type StoredRequest } from '../requests/request-store.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { TaskCleanups } from '../tasks/task-cleanups.service.js';
import { WebhookOutbox } from '../webhooks/webhook-outbox.service.js';
import type { StepResult } from './deploy-steps.service.js';
import { DeployStore } from './deploy-store.service.js';

/** Writes everything that the end of a deploy changes. */
@Injectable()
export class DeployFinisher {
  constructor(
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly expiring: ExpiringActions,
    private readonly deploys: DeployStore,
    private readonly queue: PendingQueue,
    private readonly cleanups: TaskCleanups,
    private readonly outbox: WebhookOutbox,
  ) {}

  /** `stored`: the request's row, locked in `tx`; undefined when it is gone. */
  async finish(
    tx: EntityManager,
    stored: StoredRequest | undefined,
    view: DeployView,
    outcome: DeployOutcome,
    now: number,
  ): Promise<StepResult> {
    const { marker } = view;
    const plan = finishDeploy(view, outcome, await this.surroundings(tx, view), now);
    if (stored && plan.request) {
      await this.requests.save(tx, {
        ...stored,
        request: plan.request.document,
        state: plan.request.state,
        changedAt: now,
        activeDeployId: plan.request.activeDeployId,
        pendingDeployId: undefined,
        bouncing: stored.bouncing && !plan.request.endBounce,
      });
    }
    await this.deploys.removePending(tx, marker.requestId);
    if (plan.dropOtherPendingTasks) {
      await tx.query('DELETE FROM pending_task WHERE request_id = $1 AND deploy_id <> $2', [
        marker.requestId,
        marker.deployId,
      ]);
    }
    for (const cleanup of plan.cleanups) await this.cleanups.save(tx, cleanup);
    for (const entry of plan.pendingRequests) await this.queue.enqueue(tx, entry);
    for (const kind of plan.dropExpiring) await this.expiring.remove(tx, kind, marker.requestId);
    for (const event of plan.history) await this.history.record(tx, event);
    await this.deploys.saveResult(tx, marker, plan.result);
    await this.outbox.deploy(tx, {
      deployMarker: marker,
      deploy: view.deploy,
      eventType: 'FINISHED',
      deployResult: plan.result,
    });
    // Its ended tasks were kept from the history while it was in progress.
    return { wake: ['scheduler', 'cleanup', 'webhooks', 'history'] };
  }

  private async surroundings(tx: EntityManager, { marker }: DeployView): Promise<FinishSurroundings> {
    const [waiting] = await rows<{ tasks: number }>(
      tx,
      'SELECT count(*)::int AS tasks FROM pending_task WHERE request_id = $1 AND NOT delete_requested',
      [marker.requestId],
    );
    return { pendingTaskCount: waiting!.tasks, newRunId: randomUUID };
  }
}
