import { Inject, Injectable, Logger } from '@nestjs/common';
import { deployBeginText, firstProgress, runWith } from '../../core/deploys/index.js';
import {
  type Deploy,
  type DeployKey,
  type DeployHistory,
  deployKeyText,
  type DeployMarker,
  type PendingDeploy,
} from '../../core/model/deploy.js';
import { isLongRunning, promisedTypes } from '../../core/model/enums.js';
import { instancesOf, type Request, type RequestParent } from '../../core/model/request.js';
import { closedWindows, closedWindowsText } from '../../core/schedules/index.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { callerKey, type Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake, type WakeTopic } from '../../platform/wake/wake.js';
import { refuseChanged } from '../requests/check-index.js';
import { Rows } from '../../rows.js';
import { RequestParents } from '../requests/request-parents.service.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { DeployChecks } from './deploy-checks.service.js';
import { toPendingDeploy, type StoredPendingDeploy } from './deploy.repository.js';

export interface StartDeploy {
  deploy: Deploy;
  message?: string;
  unpauseOnSuccessfulDeploy: boolean;
  updatedRequest?: Request;
  largeScaleDownAcknowledged: boolean;
  /** Check index of the plan that this carries out. */
  checkIndex?: string;
  /** The deploy was accepted before, under another id. */
  isStored?: boolean;
}

/** A deploy that may be started. */
export interface CheckedDeploy {
  deploy: Deploy;
  /** As the deploy sees it. */
  request: Request;
}

/** Topics of the pollers that have work with a new deploy. */
const startTopics: readonly WakeTopic[] = ['scheduler', 'deploys', 'webhooks'];

/** Orders of users about deploys. The poller moves the deploys on. */
@Injectable()
export class DeploysService {
  private readonly log = new Logger(DeploysService.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly checks: DeployChecks,
    private readonly actions: DisabledActions,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async start(start: StartDeploy, caller: Caller): Promise<RequestParent> {
    await this.refuseUsers(start);
    const answer = await this.db.transaction((tx) => this.startIn(tx, start, caller), [start.deploy.requestId]);
    this.begun(start, caller);
    return answer;
  }

  /** After the commit. */
  begun(start: Parameters<typeof deployBeginText>[0], caller: Caller): void {
    this.wake.signalOf([start.deploy.requestId], ...startTopics);
    this.log.log(deployBeginText(start, caller.email ?? caller.id));
  }

  /** In the transaction of a caller, who says so after it (`begun`). */
  async startIn(tx: Transaction, start: StartDeploy, caller: Caller): Promise<RequestParent> {
    const { requestId } = start.deploy;
    const now = this.clock.now();
    const stored = await this.lockRequest(tx, requestId);
    refuseChanged(stored, start.checkIndex);
    const { deploy: named, request } = await this.check(tx, stored, start, now);
    const marker: DeployMarker = {
      requestId,
      deployId: named.id,
      timestamp: now,
      user: caller.email,
      message: start.message,
    };
    if (!(await this.rows.deploys.insert(tx, { marker, deploy: named }))) throw usedBefore(named);
    const unpause = stored.state === 'PAUSED' && start.unpauseOnSuccessfulDeploy;
    await this.begin(tx, stored, {
      named,
      marker,
      request,
      updatedRequest: start.updatedRequest && request,
      unpause,
      startedBy: callerKey(caller),
    });
    const parent = await this.parent(tx, requestId);
    return { ...parent, request, state: stored.state };
  }

  /** Before the transaction of whatever is to become of the deploy: the cluster is asked. */
  refuseUsers({ deploy }: Pick<StartDeploy, 'deploy'>): Promise<void> {
    return this.checks.refuseUsers(deploy);
  }

  /** Everything that may be wrong with a deploy, without starting it. */
  async check(tx: Transaction, stored: StoredRequest, start: StartDeploy, now: number): Promise<CheckedDeploy> {
    await this.actions.refuseFor(stored.request.group, 'DEPLOY', tx);
    if (!start.isStored) await this.refuseClosed(tx, stored, now);
    const request = await this.checks.effectiveRequest(tx, stored, start.updatedRequest);
    await this.checks.checkScale(tx, request, start.largeScaleDownAcknowledged);
    this.refuseByState(stored, start);
    const deploy = { ...start.deploy, id: start.deploy.id || this.checks.newDeployId() };
    await this.checks.checkDeploy(tx, deploy, request, now, start);
    await this.checks.room(tx, deploy, request, stored);
    await this.refuseUsedId(tx, deploy);
    await this.refuseSecondDeploy(tx, deploy.requestId);
    return { deploy, request };
  }

  /** Best effort: the next look at the deploy ends it, unless it has just succeeded or failed by itself. */
  async cancel({ requestId, deployId }: DeployKey, caller: Caller): Promise<RequestParent> {
    const answer = await this.db.transaction(
      async (tx) => {
        const pending = await this.lockPending(tx, { requestId, deployId });
        // The first one counts: it is named in the result.
        if (!pending.cancel) {
          const cancel = { user: caller.email, requestedAt: this.clock.now() };
          await this.rows.deploys.changePending(tx, { ...pending, cancel });
        }
        return this.parent(tx, requestId);
      },
      [requestId],
    );
    this.wake.signalOf([requestId], 'deploys');
    return answer;
  }

  /** Another number of new tasks for the deploy in progress. */
  async update(key: DeployKey, targetActiveInstances: number): Promise<RequestParent> {
    const answer = await this.db.transaction(
      async (tx) => {
        const pending = await this.lockPending(tx, key);
        const stored = await this.rows.requests.find(tx, key.requestId);
        const most = instancesOf(pending.updatedRequest ?? stored?.request);
        if (targetActiveInstances < 1 || targetActiveInstances > most) {
          const message = `targetActiveInstances must be between 1 and ${most}, the instances of request '${key.requestId}'`;
          throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'targetActiveInstances', rule: 'range', message }]);
        }
        refuseLeap(pending, targetActiveInstances);
        refusePassingGates(pending, targetActiveInstances);
        if (pending.updateTargetInstances === undefined) {
          await this.rows.deploys.changePending(tx, { ...pending, updateTargetInstances: targetActiveInstances });
        }
        return this.parent(tx, key.requestId);
      },
      [key.requestId],
    );
    this.wake.signalOf([key.requestId], 'deploys');
    return answer;
  }

  /** The last deploy of each request if it has failed. */
  failed(): Promise<DeployHistory[]> {
    return this.db.snapshot((tx) => this.rows.deployHistory.lastFailed(tx));
  }

  /** All deploys in progress, in the order of request ids. */
  pending(): Promise<PendingDeploy[]> {
    return this.db.snapshot(async (tx) => {
      const pending = await this.rows.deploys.findPending(tx);
      const found = await this.rows.deploys.findMany(tx, pending);
      const reasons = await this.rows.pendingTasks.whyWaiting(tx, pending);
      return pending.flatMap((deploy) => {
        const key = deployKeyText(deploy);
        const stored = found.get(key);
        return stored ? toPendingDeploy(deploy, stored.marker, reasons.get(key)) : [];
      });
    });
  }

  /** Outside of the windows of the request, or of a group with it. */
  private async refuseClosed(tx: Transaction, { request, scheduleSince }: StoredRequest, now: number): Promise<void> {
    const groups = await this.rows.requestGroups.withWindows(tx, request.id);
    const closed = closedWindows(request, scheduleSince, groups, now);
    if (closed) throw new SchedulerError('DEPLOY_WINDOW_CLOSED', closedWindowsText(request.id, closed));
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

  async refuseSecondDeploy(tx: Transaction, requestId: string): Promise<void> {
    const [pending] = await this.rows.deploys.findPending(tx, [requestId]);
    if (!pending) return;
    const message = `Deploy '${pending.deployId}' of request '${requestId}' is in progress; cancel it or wait for its end`;
    throw new SchedulerError('DEPLOY_IN_PROGRESS', message);
  }

  private async refuseUsedId(tx: Transaction, deploy: Deploy): Promise<void> {
    const key = { requestId: deploy.requestId, deployId: deploy.id };
    if ((await this.rows.deploys.findMarkers(tx, [key])).size > 0) throw usedBefore(deploy);
  }

  private async begin(
    tx: Transaction,
    stored: StoredRequest,
    begun: {
      named: Deploy;
      marker: DeployMarker;
      request: Request;
      updatedRequest?: Request;
      unpause: boolean;
      startedBy: string;
    },
  ): Promise<void> {
    const { named, marker, request, updatedRequest, unpause, startedBy } = begun;
    const { requestId, deployId, timestamp: now, user, message } = marker;
    const rollsOut = isLongRunning(request.requestType);
    const saved = await this.rows.requests.save(tx, {
      ...stored,
      state: unpause ? 'DEPLOYING_TO_UNPAUSE' : stored.state,
      changedAt: unpause ? now : stored.changedAt,
      // Jobs run the new deploy from their next run on; services keep the old one until the new one is healthy.
      activeDeployId: rollsOut ? stored.activeDeployId : deployId,
      pendingDeployId: rollsOut ? deployId : undefined,
    });
    if (!rollsOut && request.requestType !== 'RUN_ONCE') await this.takeWaitingRuns(tx, requestId, deployId);
    const progress = firstProgress(request, named, this.settings, now);
    const pending = { requestId, deployId, progress, updatedRequest, startedBy };
    await this.rows.deploys.savePending(tx, { ...pending, state: 'WAITING' });
    if (unpause) {
      const eventType = 'DEPLOYED_TO_UNPAUSE';
      await this.rows.requestHistory.record(tx, { createdAt: now, user, eventType, request: saved.request, message });
    }
    await this.rows.outbox.deploy(tx, { deployMarker: marker, deploy: named, eventType: 'STARTING' });
    // A deploy that is accepted while its request stays paused starts no task.
    if (!rollsOut || (stored.state === 'PAUSED' && !unpause)) return;
    const skipHealthchecks = named.skipHealthchecksOnDeploy;
    await this.rows.pendingRequests.enqueue(tx, {
      requestId,
      deployId,
      timestamp: now,
      user,
      pendingType: 'NEW_DEPLOY',
      skipHealthchecks,
      message,
    });
  }

  /**
   * Promised runs that wait under the deploy before run with this one; each deploy of a RUN_ONCE request keeps its own. In the transaction that makes it the active one: a
   * moment later the scheduler would drop what waits under the old one.
   */
  private async takeWaitingRuns(tx: Transaction, requestId: string, deployId: string): Promise<void> {
    await this.rows.pendingRequests.moveToDeploy(tx, requestId, deployId, promisedTypes);
    const waiting = await this.rows.pendingTasks.requestRemovalOfOtherDeploys(tx, requestId, deployId, promisedTypes);
    await this.rows.pendingRequests.enqueueAll(
      tx,
      waiting.map((run) => runWith(deployId, run)),
    );
  }

  private async lockRequest(tx: Transaction, requestId: string): Promise<StoredRequest> {
    const stored = await this.rows.requests.lock(tx, requestId);
    if (!stored) throw SchedulerError.requestNotFound(requestId);
    return stored;
  }

  /** Jobs have no deploy that could be stopped or steered: theirs is active at once. */
  private async lockPending(tx: Transaction, { requestId, deployId }: DeployKey): Promise<StoredPendingDeploy> {
    const stored = await this.lockRequest(tx, requestId);
    const [pending] = await this.rows.deploys.findPending(tx, [requestId]);
    if (pending && stored.pendingDeployId === deployId) return pending;
    throw new SchedulerError('NOT_PENDING', `Deploy '${deployId}' of request '${requestId}' is not in progress`);
  }

  private async parent(tx: Transaction, requestId: string): Promise<RequestParent> {
    const parent = await this.parents.one(tx, requestId);
    if (!parent) throw SchedulerError.requestNotFound(requestId);
    return parent;
  }
}

/** Another target, of a deploy that ends old tasks first, would have more of them missing than may be. */
function refuseLeap({ progress }: StoredPendingDeploy, asked: number): void {
  const { maxUnavailable, targetActiveInstances: present = asked } = progress ?? {};
  if (maxUnavailable === undefined || Math.abs(asked - present) <= maxUnavailable) return;
  const message = `targetActiveInstances must be at most ${maxUnavailable} away from the present target, ${present}: maxUnavailable of the deploy`;
  throw SchedulerError.invalid('INVALID_REQUEST', [
    { field: 'targetActiveInstances', rule: 'maxUnavailable', message },
  ]);
}

/** A larger target would begin the next step before the gates of this one have passed. */
function refusePassingGates({ progress }: StoredPendingDeploy, asked: number): void {
  if (progress?.step === undefined || asked <= progress.targetActiveInstances) return;
  const message = `targetActiveInstances must be at most ${progress.targetActiveInstances}, as of now: the gates of the deploy say when it goes on`;
  throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'targetActiveInstances', rule: 'gates', message }]);
}

function usedBefore(deploy: Deploy): SchedulerError {
  const advice = 'choose another, or leave it out where POST /api/requests/apply (muster apply) makes one';
  const message = `deploy.id '${deploy.id}' was used before by request '${deploy.requestId}': ${advice}`;
  return SchedulerError.invalid('INVALID_DEPLOY', [{ field: 'deploy.id', rule: 'unique', message }]);
}
