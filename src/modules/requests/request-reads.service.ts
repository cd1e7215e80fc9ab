import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestState, RequestType } from '../../core/model/enums.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
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

  /** Whatever was acted on last comes first. */
  list(filter: RequestListFilter): Promise<RequestParent[]> {
    return this.database.snapshot(async (tx) => {
      const all = await this.requests.findAll(tx, filter.states);
      const wanted = all.filter(({ request }) => filter.requestType?.includes(request.requestType) ?? true);
      const brief = await this.parents.around(tx, wanted, { full: false });
      const full = filter.includeFullRequestData ?? false;
      const lastEvents = full ? await this.lastEvents(tx, brief) : undefined;
      const lastAction = (parent: RequestParent): number => lastActionAt(parent, lastEvents);
      const sorted = brief.toSorted((a, b) => lastAction(b) - lastAction(a)).slice(0, filter.limit);
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

  private lastEvents(tx: EntityManager, parents: readonly RequestParent[]): Promise<Map<string, number>> {
    return this.history.lastEventTimes(
      tx,
      parents.map(({ request }) => request.id),
    );
  }
}

/** The deploy counts, and, where the history was looked at, the newest event. */
function lastActionAt(
  { request, requestDeployState }: RequestParent,
  lastEvents: ReadonlyMap<string, number> | undefined,
): number {
  const active = requestDeployState?.activeDeploy?.timestamp;
  const pending = requestDeployState?.pendingDeploy?.timestamp;
  if (!lastEvents) return active ?? pending ?? 0;
  return Math.max(lastEvents.get(request.id) ?? 0, active ?? 0, pending ?? 0);
}
