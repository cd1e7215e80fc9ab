import { Injectable } from '@nestjs/common';
import type { RequestState, RequestType } from '../../core/model/enums.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges } from '../../platform/http/json.js';
import { BatchedRead } from '../../platform/reads/batched-read.js';
import { SharedReads } from '../../platform/reads/shared-reads.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { shownPendingRequest } from './pending-requests.js';
import { RequestCleanups } from './request-cleanups.service.js';
import { RequestHistoryService } from './request-history.service.js';
import { RequestParents } from './request-parents.service.js';
import { RequestStore, type StoredRequest } from './request-store.service.js';

export interface RequestListFilter {
  /** Absent: in any state. */
  states?: readonly RequestState[];
  requestType?: readonly RequestType[];
  includeFullRequestData?: boolean;
  limit?: number;
}

/** Reads of requests: each from one snapshot, so that its parts agree. Callers who ask at the same time share them. */
@Injectable()
export class RequestReads {
  private readonly parentReads = new BatchedRead((ids: readonly string[]) => this.manyParents(ids));
  private readonly storedReads = new BatchedRead((ids: readonly string[]) => this.manyStored(ids));
  private readonly briefReads = new SharedReads<RequestParent[]>();
  private readonly idReads = new SharedReads<string[]>();

  constructor(
    private readonly database: Database,
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly parents: RequestParents,
    private readonly cleanups: RequestCleanups,
    private readonly queue: PendingQueue,
  ) {}

  async one(id: string): Promise<RequestParent> {
    const parent = await this.parentReads.ask(id);
    if (!parent) throw SchedulerError.requestNotFound(id);
    return parent;
  }

  async simple(id: string): Promise<RequestWithState> {
    const stored = await this.storedReads.ask(id);
    if (!stored) throw SchedulerError.requestNotFound(id);
    return { request: stored.request, state: stored.state, timestamp: stored.changedAt };
  }

  /** Whatever was acted on last comes first. */
  async list(filter: RequestListFilter): Promise<RequestParent[]> {
    const all = await this.briefReads.ask(JSON.stringify(filter.states), () => this.brief(filter.states));
    const wanted = all.filter(({ request }) => filter.requestType?.includes(request.requestType) ?? true);
    return filter.includeFullRequestData ? this.detailed(wanted, filter) : newestFirst(wanted, filter);
  }

  ids(filter: { requestIdLike?: string; state?: readonly RequestState[] }): Promise<string[]> {
    const { requestIdLike, state } = filter;
    return this.idReads.ask(JSON.stringify([requestIdLike, state]), async () =>
      neverChanges(await this.requests.findIds(this.database.manager, filter)),
    );
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

  /** Of several requests by one read. */
  private manyParents(ids: readonly string[]): Promise<Map<string, RequestParent>> {
    return this.database.snapshot(async (tx) => {
      const found = await this.parents.load(tx, ids, { full: true });
      return new Map(found.map((parent) => [parent.request.id, parent]));
    });
  }

  private async manyStored(ids: readonly string[]): Promise<Map<string, StoredRequest>> {
    const found = await this.requests.findMany(this.database.manager, ids);
    return new Map(found.map((stored) => [stored.request.id, stored]));
  }

  private brief(states: readonly RequestState[] | undefined): Promise<RequestParent[]> {
    return this.database.snapshot(async (tx) => {
      const found = await this.parents.around(tx, await this.requests.findAll(tx, states), { full: false });
      return found.map(neverChanges);
    });
  }

  private detailed(brief: readonly RequestParent[], filter: RequestListFilter): Promise<RequestParent[]> {
    return this.database.snapshot(async (tx) => {
      const lastEvents = await this.history.lastEventTimes(
        tx,
        brief.map(({ request }) => request.id),
      );
      const ids = newestFirst(brief, filter, lastEvents).map(({ request }) => request.id);
      const detailed = await this.parents.load(tx, ids, { full: false, withTasks: true });
      const byId = new Map(detailed.map((parent) => [parent.request.id, parent]));
      // One may have been removed since the list was read.
      return ids.flatMap((id) => byId.get(id) ?? []);
    });
  }
}

function newestFirst(
  parents: readonly RequestParent[],
  { limit }: RequestListFilter,
  lastEvents?: ReadonlyMap<string, number>,
): RequestParent[] {
  const lastAction = (parent: RequestParent): number => lastActionAt(parent, lastEvents);
  return parents.toSorted((a, b) => lastAction(b) - lastAction(a)).slice(0, limit);
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
