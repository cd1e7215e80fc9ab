import { Injectable } from '@nestjs/common';
import {
  type Deploy,
  type DeployKey,
  deployKeyText,
  type DeployMarker,
  type PendingDeploy,
} from '../../core/model/deploy.js';
import { isRunnable } from '../../core/model/enums.js';
import type { RequestDeployState, RequestParent } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { nextTimes, type TimeInZone } from '../../core/schedules/index.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import {
  DeployRepository,
  toPendingDeploy,
  type StoredDeploy,
  type StoredPendingDeploy,
} from '../deploys/deploy.repository.js';
import { PendingTaskRepository } from '../tasks/pending-task.repository.js';
import { noTaskIds, TaskIdsByStatusService } from '../tasks/task-ids-by-status.service.js';
import type { ExpiringRequestAction } from './expiring/expiring-action.entity.js';
import { ExpiringActionRepository } from './expiring/expiring-action.repository.js';
import type { QuietRequest } from './quiet-request.repository.js';
import { RequestRepository, type StoredRequest } from './request.repository.js';

interface ParentOptions {
  /** Deploys, the deploy in progress, expiring actions and tasks. false: only request, state and deploy markers. */
  full: boolean;
  /** With full false: expiring actions and tasks nevertheless, as the lists show them. */
  withTasks?: boolean;
}

/** Times of a schedule in an answer. */
const timesShown = 5;

/** The record that most operations on a request answer with: the request and what goes on around it. */
@Injectable()
export class RequestParents {
  constructor(
    private readonly requests: RequestRepository,
    private readonly deploys: DeployRepository,
    private readonly expiring: ExpiringActionRepository,
    private readonly taskIds: TaskIdsByStatusService,
    private readonly pendingTasks: PendingTaskRepository,
    private readonly clock: Clock,
  ) {}

  /** In the order of ids; unknown ids are left out. */
  async load(tx: Queryable, ids: readonly string[], options: ParentOptions): Promise<RequestParent[]> {
    return this.around(tx, await this.requests.findMany(tx, ids), options);
  }

  /** The same for requests that were read already, in their order. */
  async around(tx: Queryable, stored: readonly StoredRequest[], options: ParentOptions): Promise<RequestParent[]> {
    if (stored.length === 0) return [];
    const keys = stored.flatMap(deployKeys);
    const deploys = options.full ? await this.deploys.findMany(tx, keys) : new Map<string, StoredDeploy>();
    const markers = await this.markers(tx, keys, deploys);
    const parents = stored.map((request) => brief(request, markers));
    if (options.full) await this.addDeploys(tx, stored, parents, { deploys, markers });
    if (options.full) parents.forEach((parent, index) => (parent.nextRuns = this.nextRuns(stored[index]!)));
    if (options.full || options.withTasks) await this.addExpiringAndTasks(tx, stored, parents, deploys);
    return parents;
  }

  /** From what one statement read. */
  ofQuietRequests(jobs: readonly QuietRequest[]): RequestParent[] {
    const deploys = new Map(jobs.map(({ deploy }) => [deployKeyText(deploy.marker), deploy]));
    const markers = new Map([...deploys].map(([key, { marker }]) => [key, marker]));
    const taskIds = this.taskIds.ofKnown({
      requests: new Map(jobs.map(({ stored }) => [stored.request.id, stored])),
      deploys,
      pending: jobs.flatMap(({ pending }) => pending),
      tasks: jobs.flatMap(({ tasks }) => tasks),
    });
    return jobs.map(({ stored, deploy }) => ({
      ...brief(stored, markers),
      activeDeploy: deploy.deploy,
      nextRuns: this.nextRuns(stored),
      taskIds: taskIds.get(stored.request.id),
    }));
  }

  /** Of a request that was made in this transaction, so that nothing goes on around it yet. */
  ofNew(stored: StoredRequest): RequestParent {
    return {
      ...brief(stored, new Map()),
      taskIds: noTaskIds(),
      nextRuns: this.nextRuns({ ...stored, scheduleSince: stored.changedAt }),
    };
  }

  nextRuns({ request, state, scheduleSince }: StoredRequest): TimeInZone[] | undefined {
    if (request.requestType !== 'SCHEDULED' || !isRunnable(state)) return undefined;
    return nextTimes(request, scheduleSince, this.clock.now(), timesShown);
  }

  /** Of a deploy that was purged only its marker is left. */
  private async markers(
    tx: Queryable,
    keys: readonly DeployKey[],
    deploys: ReadonlyMap<string, StoredDeploy>,
  ): Promise<Map<string, DeployMarker>> {
    const others = keys.filter((key) => !deploys.has(deployKeyText(key)));
    const markers = await this.deploys.findMarkers(tx, others);
    for (const [key, { marker }] of deploys) markers.set(key, marker);
    return markers;
  }

  private async addDeploys(
    tx: Queryable,
    stored: readonly StoredRequest[],
    parents: readonly RequestParent[],
    { deploys, markers }: { deploys: ReadonlyMap<string, StoredDeploy>; markers: ReadonlyMap<string, DeployMarker> },
  ): Promise<void> {
    // The deploy in progress of a job is its active one.
    const deployed = stored.filter((request) => deployKeys(request).length > 0);
    const ids = deployed.map(({ request }) => request.id);
    const found = ids.length > 0 ? await this.deploys.findPending(tx, ids) : [];
    const pending = new Map(found.map((deploy) => [deploy.requestId, deploy]));
    const reasons = await this.pendingTasks.whyWaiting(tx, found);
    stored.forEach(({ request: { id }, activeDeployId, pendingDeployId }, index) => {
      const deploy = (deployId: string | undefined): Deploy | undefined =>
        deployId === undefined ? undefined : deploys.get(deployKeyText({ requestId: id, deployId }))?.deploy;
      const inProgress = pending.get(id);
      Object.assign(parents[index]!, {
        activeDeploy: deploy(activeDeployId),
        pendingDeploy: deploy(pendingDeployId),
        pendingDeployState: inProgress && pendingDeploy(inProgress, markers, reasons),
      });
    });
  }

  private async addExpiringAndTasks(
    tx: Queryable,
    stored: readonly StoredRequest[],
    parents: readonly RequestParent[],
    deploys: ReadonlyMap<string, StoredDeploy>,
  ): Promise<void> {
    const byId = new Map(parents.map((parent) => [parent.request.id, parent]));
    for (const action of await this.expiring.ofRequests(tx, [...byId.keys()])) {
      Object.assign(byId.get(action.targetId)!, asParentMember(action));
    }
    const requests = new Map(stored.map((request) => [request.request.id, request]));
    const taskIds = await this.taskIds.forRequests(tx, [...byId.keys()], { requests, deploys });
    for (const [id, parent] of byId) parent.taskIds = taskIds.get(id);
  }
}

function deployKeys({ request, activeDeployId, pendingDeployId }: StoredRequest): DeployKey[] {
  const ids = [activeDeployId, pendingDeployId].filter((id) => id !== undefined);
  return ids.map((deployId) => ({ requestId: request.id, deployId }));
}

function brief(stored: StoredRequest, markers: ReadonlyMap<string, DeployMarker>): RequestParent {
  return { request: stored.request, state: stored.state, requestDeployState: deployState(stored, markers) };
}

/** Absent while there is no deploy that runs or is in progress. */
function deployState(
  { request: { id }, activeDeployId, pendingDeployId }: StoredRequest,
  markers: ReadonlyMap<string, DeployMarker>,
): RequestDeployState | undefined {
  if (activeDeployId === undefined && pendingDeployId === undefined) return undefined;
  const marker = (deployId: string | undefined): DeployMarker | undefined =>
    deployId === undefined ? undefined : markers.get(deployKeyText({ requestId: id, deployId }));
  return { requestId: id, activeDeploy: marker(activeDeployId), pendingDeploy: marker(pendingDeployId) };
}

/** There is no deploy in progress without its marker: both are written together. */
function pendingDeploy(
  pending: StoredPendingDeploy,
  markers: ReadonlyMap<string, DeployMarker>,
  reasons: ReadonlyMap<string, string>,
): PendingDeploy | undefined {
  const key = deployKeyText(pending);
  const deployMarker = markers.get(key);
  return deployMarker && toPendingDeploy(pending, deployMarker, reasons.get(key));
}

/** The member of a RequestParent under which an expiring action is shown. */
function asParentMember(action: ExpiringRequestAction): Partial<RequestParent> {
  const { targetId: requestId, user, startMillis, actionId } = action;
  const common = { requestId, user, startMillis, actionId };
  switch (action.kind) {
    case 'BOUNCE':
      return { expiringBounce: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'PAUSE':
      return { expiringPause: { ...common, expiringAPIRequestObject: action.document } };
    case 'SCALE':
      return { expiringScale: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'PRIORITY':
      return { expiringPriority: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'SKIP_HEALTHCHECKS':
      return { expiringSkipHealthchecks: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
  }
}

/** A pending request as answers show it: with all overrides, also those that are empty. */
export const shownPendingRequest = (pending: PendingRequest): PendingRequest => ({
  ...pending,
  objstoreUploaderAdditionalFiles: pending.objstoreUploaderAdditionalFiles ?? [],
  envOverrides: pending.envOverrides ?? {},
  requiredSlaveAttributeOverrides: pending.requiredSlaveAttributeOverrides ?? {},
  allowedSlaveAttributeOverrides: pending.allowedSlaveAttributeOverrides ?? {},
  extraArtifacts: pending.extraArtifacts ?? [],
});
