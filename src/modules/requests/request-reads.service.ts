import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isRelevantFor, type RelevanceFacts, type User } from '../../core/authorization/index.js';
import type { RequestState, RequestType } from '../../core/model/enums.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { Access } from '../auth/access/access.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { UserSettingsStore } from '../users/user-settings-store.service.js';
import { shownPendingRequest } from './pending-requests.js';
import { RequestCleanups } from './request-cleanups.service.js';
import { RequestHistoryService } from './request-history.service.js';
import { RequestParents } from './request-parents.service.js';
import { RequestStore } from './request-store.service.js';

export interface RequestListFilter {
  /** Absent: in any state. */
  states?: readonly RequestState[];
  requestType?: readonly RequestType[];
  includeFullRequestData?: boolean;
  /** Only what concerns the caller; without effect while nobody knows who calls. */
  filterRelevantForUser?: boolean;
  limit?: number;
}

/** Reads of requests: each from one snapshot, so that its parts agree. */
@Injectable()
export class RequestReads {
  constructor(
    private readonly database: Database,
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly parents: RequestParents,
    private readonly cleanups: RequestCleanups,
    private readonly queue: PendingQueue,
    private readonly access: Access,
    private readonly settings: UserSettingsStore,
  ) {}

  one(id: string): Promise<RequestParent> {
    return this.database.snapshot(async (tx) => {
      const [parent] = await this.parents.load(tx, [id], { full: true });
      if (!parent) throw SchedulerError.requestNotFound(id);
      return parent;
    });
  }

  async simple(id: string): Promise<RequestWithState> {
    const stored = await this.requests.find(this.database.manager, id);
    if (!stored) throw SchedulerError.requestNotFound(id);
    return { request: stored.request, state: stored.state, timestamp: stored.changedAt };
  }

  /** What the caller may read: what they care for first, and then whatever was acted on last. */
  list(filter: RequestListFilter, user: User): Promise<RequestParent[]> {
    return this.database.snapshot(async (tx) => {
      const mayRead = this.access.readableBy(user);
      const all = await this.requests.findAll(tx, filter.states);
      const wanted = all.filter(
        ({ request }) => (filter.requestType?.includes(request.requestType) ?? true) && mayRead(request),
      );
      const brief = await this.parents.around(tx, wanted, { full: false });
      const full = filter.includeFullRequestData ?? false;
      const lastEvents = full ? await this.lastEvents(tx, brief) : undefined;
      const starred = new Set((await this.settings.find(tx, user.id))?.starredRequestIds);
      const relevant = filter.filterRelevantForUser
        ? brief.filter((parent) => isRelevantFor(user, relevance(parent, starred, lastEvents)))
        : brief;
      const rank = (parent: RequestParent): number => (starred.has(parent.request.id) ? 1 : 0);
      const lastAction = (parent: RequestParent): number => lastActionAt(parent, lastEvents);
      const sorted = relevant
        .toSorted((a, b) => rank(b) - rank(a) || lastAction(b) - lastAction(a))
        .slice(0, filter.limit);
      if (!full) return sorted;
      const ids = sorted.map(({ request }) => request.id);
      const detailed = await this.parents.load(tx, ids, { full: false, withTasks: true });
      const byId = new Map(detailed.map((parent) => [parent.request.id, parent]));
      return ids.map((id) => byId.get(id)!);
    });
  }

  ids(filter: { requestIdLike?: string; state?: readonly RequestState[] }): Promise<string[]> {
    return this.requests.findIds(this.database.manager, filter);
  }

  batch(ids: readonly string[]): Promise<RequestBatch> {
    return this.database.snapshot(async (tx) => {
      const requests = await this.parents.load(tx, ids, { full: true });
      const found = new Set(requests.map(({ request }) => request.id));
      return { requests, notFound: [...new Set(ids)].filter((id) => !found.has(id)) };
    });
  }

  queuedCleanups(): Promise<RequestCleanup[]> {
    return this.cleanups.find(this.database.manager);
  }

  async queuedRequests(): Promise<PendingRequest[]> {
    return (await this.queue.list(this.database.manager)).map(shownPendingRequest);
  }

  private async lastEvents(tx: EntityManager, parents: readonly RequestParent[]): Promise<LastEvents> {
    const ids = parents.map(({ request }) => request.id);
    return { times: await this.history.lastEventTimes(tx, ids), users: await this.history.lastEventUsers(tx, ids) };
  }
}

/** When the newest event of each request was, and who caused it. */
interface LastEvents {
  times: ReadonlyMap<string, number>;
  users: ReadonlyMap<string, string>;
}

const relevance = (
  { request, requestDeployState }: RequestParent,
  starred: ReadonlySet<string>,
  lastEvents: LastEvents | undefined,
): RelevanceFacts => ({
  group: request.group,
  starred: starred.has(request.id),
  actedBy: [
    requestDeployState?.activeDeploy?.user,
    requestDeployState?.pendingDeploy?.user,
    lastEvents?.users.get(request.id),
  ],
});

/** The deploy counts, and, where the history was looked at, the newest event. */
function lastActionAt({ request, requestDeployState }: RequestParent, lastEvents: LastEvents | undefined): number {
  const active = requestDeployState?.activeDeploy?.timestamp;
  const pending = requestDeployState?.pendingDeploy?.timestamp;
  if (!lastEvents) return active ?? pending ?? 0;
  return Math.max(lastEvents.times.get(request.id) ?? 0, active ?? 0, pending ?? 0);
}
