import { Injectable } from '@nestjs/common';
import { type Deploy, type DeployKey, deployKeyText, type PendingDeploy } from '../../core/model/deploy.js';
import { isRunnable } from '../../core/model/enums.js';
import type { RequestDeployState, RequestParent, TaskIdsByStatus } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { startsLeft } from '../../core/pending-work/index.js';
import { nextTimes, type TimeInZone } from '../../core/schedules/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { toPendingDeploy } from '../deploys/deploy.repository.js';
import { Rows } from '../../rows.js';
import { noTaskIds, TaskIdsByStatusService } from '../tasks/task-ids-by-status.service.js';
import type { ExpiringRequestAction } from '../../platform/actions/expiring-action.entity.js';
import type { DeployOfRequest, RequestRows } from './request-parent.repository.js';
import type { StoredRequest } from './request.repository.js';

/** Times of a schedule in an answer. */
const timesShown = 5;

/**
 * The record that most operations on a request answer with: the request and what goes on around it. All of them come from `find`, which
 * reads a request with one statement and what is seldom there with others.
 */
@Injectable()
export class RequestParents {
  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly taskIds: TaskIdsByStatusService,
    private readonly clock: Clock,
  ) {}

  /** By id, outside of a transaction: a snapshot is taken of those only of which one statement does not read everything. */
  async read(ids: readonly string[]): Promise<Map<string, RequestParent>> {
    const { pool } = this.database;
    const found = await this.rows.requestParents.find(pool, ids);
    const whole = new Set(found.filter(isWhole));
    const others = found.filter((rows) => !whole.has(rows)).map(({ stored }) => stored.request.id);
    const parents = await this.complete(pool, [...whole]);
    if (others.length > 0) parents.push(...(await this.database.snapshot((tx) => this.find(tx, others))));
    return new Map(parents.map((parent) => [parent.request.id, parent]));
  }

  /** In the order of ids; unknown ids are left out. */
  async find(tx: Transaction, ids: readonly string[]): Promise<RequestParent[]> {
    return this.complete(tx, await this.rows.requestParents.find(tx, ids));
  }

  async one(tx: Transaction, id: string): Promise<RequestParent | undefined> {
    return (await this.find(tx, [id]))[0];
  }

  /** The parent of a request as it was written in this transaction, with its members as they were sent. */
  async around(tx: Transaction, stored: StoredRequest): Promise<RequestParent> {
    const [rows] = await this.rows.requestParents.find(tx, [stored.request.id]);
    return (await this.complete(tx, [{ ...rows!, stored }]))[0]!;
  }

  /** The parent of a request that was made in this transaction, so that nothing goes on around it yet. */
  ofNew(stored: StoredRequest): RequestParent {
    const rows = { stored: { ...stored, scheduleSince: stored.changedAt } };
    return parentOf(rows, { nextRuns: this.nextRuns(rows.stored), taskIds: noTaskIds() });
  }

  /** As lists show them: request, state and who deployed; in the order given. */
  async brief(tx: Queryable, found: readonly StoredRequest[]): Promise<RequestParent[]> {
    const markers = await this.rows.deploys.findMarkers(tx, found.flatMap(deployKeys));
    const deployOf = (requestId: string, deployId: string | undefined): DeployOfRequest | undefined => {
      const marker = deployId === undefined ? undefined : markers.get(deployKeyText({ requestId, deployId }));
      return marker && { marker };
    };
    return found.map((stored) => {
      const { request, activeDeployId, pendingDeployId } = stored;
      const pending = deployOf(request.id, pendingDeployId);
      return parentOf({ stored, active: deployOf(request.id, activeDeployId), pending });
    });
  }

  /** As lists show them with all data: brief, with expiring actions and tasks; in the order of ids. */
  async withTasks(tx: Transaction, ids: readonly string[]): Promise<RequestParent[]> {
    const found = await this.rows.requestParents.find(tx, ids);
    const actions = await this.expiringActions(tx, found);
    const taskIds = await this.tasksOf(tx, found);
    return found.map((rows) => {
      const { id } = rows.stored.request;
      return parentOf(rows, { actions: actions.get(id), taskIds: taskIds.get(id) });
    });
  }

  nextRuns({ request, state, scheduleSince, startedRuns }: StoredRequest): TimeInZone[] | undefined {
    if (request.requestType !== 'SCHEDULED' || !isRunnable(state)) return undefined;
    const count = Math.min(timesShown, startsLeft({ request, startedRuns }));
    return nextTimes(request, scheduleSince, this.clock.now(), count);
  }

  private async complete(tx: Queryable, found: readonly RequestRows[]): Promise<RequestParent[]> {
    const inProgress = await this.deploysInProgress(tx, found);
    const actions = await this.expiringActions(tx, found);
    const taskIds = await this.tasksOf(tx, found);
    return found.map((rows) => {
      const { id } = rows.stored.request;
      return parentOf(rows, {
        activeDeploy: rows.active?.deploy,
        pendingDeploy: rows.pending?.deploy,
        pendingDeployState: inProgress.get(id),
        nextRuns: this.nextRuns(rows.stored),
        actions: actions.get(id),
        taskIds: taskIds.get(id),
      });
    });
  }

  /** By request id. The deploy in progress of a job is its active one. */
  private async deploysInProgress(tx: Queryable, found: readonly RequestRows[]): Promise<Map<string, PendingDeploy>> {
    const deploying = found.filter((rows) => rows.hasDeployInProgress);
    const markers = new Map(deploying.flatMap(deploysOf).map(({ marker }) => [deployKeyText(marker), marker]));
    if (markers.size === 0) return new Map();
    const ids = deploying.map(({ stored }) => stored.request.id);
    const stored = await this.rows.deploys.findPending(tx, ids);
    const reasons = await this.rows.pendingTasks.whyWaiting(tx, stored);
    return new Map(
      stored.flatMap((deploy) => {
        const key = deployKeyText(deploy);
        const marker = markers.get(key);
        return marker ? [[deploy.requestId, toPendingDeploy(deploy, marker, reasons.get(key))]] : [];
      }),
    );
  }

  /** By request id. */
  private async expiringActions(
    tx: Queryable,
    found: readonly RequestRows[],
  ): Promise<Map<string, ExpiringRequestAction[]>> {
    const ids = found.filter((rows) => rows.hasExpiringActions).map(({ stored }) => stored.request.id);
    const byId = new Map(ids.map((id): [string, ExpiringRequestAction[]] => [id, []]));
    if (ids.length === 0) return byId;
    for (const action of await this.rows.expiringActions.ofRequests(tx, ids)) byId.get(action.targetId)!.push(action);
    return byId;
  }

  private tasksOf(tx: Queryable, found: readonly RequestRows[]): Promise<Map<string, TaskIdsByStatus>> {
    const requests = new Map(found.map(({ stored }) => [stored.request.id, stored]));
    return this.taskIds.sort(tx, [...requests.keys()], {
      requests,
      deploys: deploysByKey(found),
      waiting: found.flatMap(({ waiting }) => waiting),
      tasks: found.flatMap(({ tasks }) => tasks),
    });
  }
}

const deploysOf = ({ active, pending }: RequestRows): DeployOfRequest[] => [active ?? [], pending ?? []].flat();

const deploysByKey = (found: readonly RequestRows[]): Map<string, Deploy> =>
  new Map(found.flatMap(deploysOf).flatMap(({ marker, deploy }) => (deploy ? [[deployKeyText(marker), deploy]] : [])));

function deployKeys({ request, activeDeployId, pendingDeployId }: StoredRequest): DeployKey[] {
  const ids = [activeDeployId, pendingDeployId].filter((id) => id !== undefined);
  return ids.map((deployId) => ({ requestId: request.id, deployId }));
}

/** Nothing else needs to be read: health, load balancer and older deploys matter where there are tasks. */
function isWhole(rows: RequestRows): boolean {
  const { hasDeployInProgress, hasExpiringActions, stored, tasks } = rows;
  if (hasDeployInProgress || hasExpiringActions) return false;
  if (tasks.length === 0) return true;
  if (stored.request.loadBalanced) return false;
  const unchecked = deploysOf(rows).filter(({ deploy }) => deploy && !deploy.healthcheck);
  const ids = new Set(unchecked.map(({ marker }) => marker.deployId));
  return tasks.every(({ taskId }) => ids.has(taskId.deployId));
}

interface AroundRequest extends Pick<
  RequestParent,
  'activeDeploy' | 'pendingDeploy' | 'pendingDeployState' | 'nextRuns' | 'taskIds'
> {
  actions?: readonly ExpiringRequestAction[];
}

/** The one place where the document is put together, whatever of it is shown. */
function parentOf(
  { stored, active, pending }: Pick<RequestRows, 'stored' | 'active' | 'pending'>,
  around?: AroundRequest,
): RequestParent {
  const parent: RequestParent = {
    request: stored.request,
    state: stored.state,
    requestDeployState: deployState(stored, active, pending),
  };
  if (!around) return parent;
  const { actions = [], taskIds, ...rest } = around;
  return Object.assign(parent, rest, ...actions.map(asParentMember), { taskIds }) as RequestParent;
}

/** Absent while there is no deploy that runs or is in progress. */
function deployState(
  { request: { id }, activeDeployId, pendingDeployId }: StoredRequest,
  active: DeployOfRequest | undefined,
  pending: DeployOfRequest | undefined,
): RequestDeployState | undefined {
  if (activeDeployId === undefined && pendingDeployId === undefined) return undefined;
  return { requestId: id, activeDeploy: active?.marker, pendingDeploy: pending?.marker };
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
