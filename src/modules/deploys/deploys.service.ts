import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { firstProgress } from '../../core/deploys/index.js';
import type { Deploy, DeployMarker, PendingDeploy } from '../../core/model/deploy.js';
import { isLongRunning } from '../../core/model/enums.js';
import type { Request, RequestParent } from '../../core/model/request.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestHistoryService } from '../requests/request-history.service.js';
import { RequestParents } from '../requests/request-parents.service.js';
import { RequestStore, type StoredRequest } from '../requests/request-store.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { WebhookOutbox } from '../webhooks/webhook-outbox.service.js';
import { DeployChecks } from './deploy-checks.service.js';
import { WaitingRuns } from './waiting-runs.service.js';
import {
  deployKeyText,
  DeployStore,
  toPendingDeploy,
  type DeployKey,
  type StoredPendingDeploy,
} from './deploy-store.service.js';

export interface StartDeploy {
  deploy: Deploy;
  message?: string;
  unpauseOnSuccessfulDeploy: boolean;
  updatedRequest?: Request;
  largeScaleDownAcknowledged: boolean;
}

/** What people do with deploys. The poller moves them on. */
@Injectable()
export class DeploysService {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly parents: RequestParents,
    private readonly deploys: DeployStore,
    private readonly checks: DeployChecks,
    private readonly queue: PendingQueue,
    private readonly waitingRuns: WaitingRuns,
    private readonly outbox: WebhookOutbox,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async start(start: StartDeploy, caller: Caller): Promise<RequestParent> {
    const { deploy } = start;
    const answer = await this.db.transaction(async (tx) => {
      const now = this.clock.now();
      const stored = await this.lockRequest(tx, deploy.requestId);
      const request = await this.checks.effectiveRequest(tx, stored, start.updatedRequest);
      await this.checks.checkScale(tx, request, start.largeScaleDownAcknowledged);
      this.refuseByState(stored, start);
      const named = { ...deploy, id: deploy.id || this.checks.newDeployId() };
      await this.checks.checkDeploy(tx, named, request, now);
      const marker: DeployMarker = {
        requestId: deploy.requestId,
        deployId: named.id,
        timestamp: now,
        user: caller.email,
        message: start.message,
      };
      await this.insert(tx, named, marker);
      await this.refuseSecondDeploy(tx, deploy.requestId);
      const unpause = stored.state === 'PAUSED' && start.unpauseOnSuccessfulDeploy;
      await this.begin(tx, stored, {
        named,
        marker,
        request,
        updatedRequest: start.updatedRequest && request,
        unpause,
      });
      const parent = await this.parent(tx, deploy.requestId);
      return { ...parent, request, state: stored.state };
    });
    this.wake.signal('scheduler', 'deploys', 'webhooks');
    return answer;
  }

  /** Best effort: the next look at the deploy ends it, unless it has just succeeded or failed by itself. */
  async cancel({ requestId, deployId }: DeployKey, caller: Caller): Promise<RequestParent> {
    const answer = await this.db.transaction(async (tx) => {
      const pending = await this.lockPending(tx, { requestId, deployId });
      // The first one counts: it is named in the result.
      if (!pending.cancel) {
        const cancel = { user: caller.email, requestedAt: this.clock.now() };
        await this.deploys.savePending(tx, { ...pending, cancel });
      }
      return this.parent(tx, requestId);
    });
    this.wake.signal('deploys');
    return answer;
  }

  /** Another number of new tasks for the deploy in progress. */
  async update(key: DeployKey, targetActiveInstances: number): Promise<RequestParent> {
    const answer = await this.db.transaction(async (tx) => {
      const pending = await this.lockPending(tx, key);
      const stored = await this.requests.find(tx, key.requestId);
      const most = (pending.updatedRequest ?? stored?.request)?.instances ?? 1;
      if (targetActiveInstances < 1 || targetActiveInstances > most) {
        const message = `targetActiveInstances must be between 1 and ${most}, the instances of request '${key.requestId}'`;
        throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'targetActiveInstances', rule: 'range', message }]);
      }
      if (pending.updateTargetInstances === undefined) {
        await this.deploys.savePending(tx, { ...pending, updateTargetInstances: targetActiveInstances });
      }
      return this.parent(tx, key.requestId);
    });
    this.wake.signal('deploys');
    return answer;
  }

  /** All deploys in progress, in the order of request ids. */
  pending(): Promise<PendingDeploy[]> {
    return this.db.snapshot(async (tx) => {
      const pending = await this.deploys.findPending(tx);
      const found = await this.deploys.findMany(tx, pending);
      return pending.flatMap((deploy) => {
        const stored = found.get(deployKeyText(deploy));
        return stored ? toPendingDeploy(deploy, stored.marker) : [];
      });
    });
  }

  private refuseByState({ state, request }: StoredRequest, start: StartDeploy): void {
    if (state === 'DELETING') {
      throw new SchedulerError('REQUEST_BEING_CLEANED', `Request '${request.id}' is being deleted`);
    }
    const mayBePaused = start.unpauseOnSuccessfulDeploy || this.settings.allowDeployOfPausedRequests;
    if (state === 'PAUSED' && !mayBePaused) {
      const hint = 'set unpauseOnSuccessfulDeploy to unpause it when the deploy succeeds';
      throw new SchedulerError('REQUEST_PAUSED', `Request '${request.id}' is paused; ${hint}`);
    }
  }

  private async refuseSecondDeploy(tx: EntityManager, requestId: string): Promise<void> {
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    if (!pending) return;
    const message = `Deploy '${pending.deployId}' of request '${requestId}' is in progress; cancel it or wait for its end`;
    throw new SchedulerError('DEPLOY_IN_PROGRESS', message);
  }

  private async insert(tx: EntityManager, deploy: Deploy, marker: DeployMarker): Promise<void> {
    if (await this.deploys.insert(tx, { marker, deploy })) return;
    const message = `deploy.id '${deploy.id}' was used before by request '${deploy.requestId}'`;
    throw SchedulerError.invalid('INVALID_DEPLOY', [{ field: 'deploy.id', rule: 'unique', message }]);
  }

  private async begin(
    tx: EntityManager,
    stored: StoredRequest,
    begun: { named: Deploy; marker: DeployMarker; request: Request; updatedRequest?: Request; unpause: boolean },
  ): Promise<void> {
    const { named, marker, request, updatedRequest, unpause } = begun;
    const { requestId, deployId, timestamp: now, user, message } = marker;
    const rollsOut = isLongRunning(request.requestType);
    const saved = await this.requests.save(tx, {
      ...stored,
      state: unpause ? 'DEPLOYING_TO_UNPAUSE' : stored.state,
      changedAt: unpause ? now : stored.changedAt,
      // Jobs run the new deploy from their next run on; services keep the old one until the new one is healthy.
      activeDeployId: rollsOut ? stored.activeDeployId : deployId,
      pendingDeployId: rollsOut ? deployId : undefined,
    });
    if (!rollsOut) await this.waitingRuns.moveTo(tx, requestId, deployId);
    const progress = firstProgress(request, named, this.settings, now);
    await this.deploys.savePending(tx, { requestId, deployId, state: 'WAITING', progress, updatedRequest });
    if (unpause) {
      const eventType = 'DEPLOYED_TO_UNPAUSE';
      await this.history.record(tx, { createdAt: now, user, eventType, request: saved.request, message });
    }
    await this.outbox.deploy(tx, { deployMarker: marker, deploy: named, eventType: 'STARTING' });
    // A deploy that is accepted while its request stays paused starts no task.
    if (!rollsOut || (stored.state === 'PAUSED' && !unpause)) return;
    const skipHealthchecks = named.skipHealthchecksOnDeploy;
    await this.queue.enqueue(tx, {
      requestId,
      deployId,
      timestamp: now,
      user,
      pendingType: 'NEW_DEPLOY',
      skipHealthchecks,
      message,
    });
  }

  private async lockRequest(tx: EntityManager, requestId: string): Promise<StoredRequest> {
    const stored = await this.requests.lock(tx, requestId);
    if (!stored) throw SchedulerError.requestNotFound(requestId);
    return stored;
  }

  /** Jobs have no deploy that could be stopped or steered: theirs is active at once. */
  private async lockPending(tx: EntityManager, { requestId, deployId }: DeployKey): Promise<StoredPendingDeploy> {
    const stored = await this.lockRequest(tx, requestId);
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    if (pending && stored.pendingDeployId === deployId) return pending;
    throw new SchedulerError('NOT_PENDING', `Deploy '${deployId}' of request '${requestId}' is not in progress`);
  }

  private async parent(tx: EntityManager, requestId: string): Promise<RequestParent> {
    const [parent] = await this.parents.load(tx, [requestId], { full: true });
    if (!parent) throw SchedulerError.requestNotFound(requestId);
    return parent;
  }
}
