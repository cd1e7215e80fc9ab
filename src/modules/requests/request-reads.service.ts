import { Injectable } from '@nestjs/common';
import type { RequestState } from '../../core/model/enums.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges } from '../../platform/http/json.js';
import { BatchedRead, KeptList, SharedReads } from '../../platform/reads/reads.js';
import { PendingRequestRepository } from '../tasks/pending-request.repository.js';
import { QuietJobRepository } from './quiet-job.repository.js';
import { RequestCleanupRepository } from './request-cleanup.repository.js';
import { RequestParents, shownPendingRequest } from './request-parents.service.js';
import { RequestRepository, type StoredRequest } from './request.repository.js';

/** Reads of requests: each from one snapshot, so that its parts agree. Calls at the same time share one read. */
@Injectable()
export class RequestReads {
  private readonly parentReads = new BatchedRead((ids: readonly string[]) => this.manyParents(ids));
  private readonly jobReads = new BatchedRead((ids: readonly string[]) => this.manyJobs(ids));
  private readonly storedReads = new BatchedRead((ids: readonly string[]) => this.manyStored(ids));
  private readonly idReads = new SharedReads<string[]>();
  private readonly allIds = new KeptList<string>();

  constructor(
    private readonly database: Database,
    private readonly requests: RequestRepository,
    private readonly parents: RequestParents,
    private readonly cleanups: RequestCleanupRepository,
    private readonly queue: PendingRequestRepository,
    private readonly quietJobs: QuietJobRepository,
  ) {}

  async one(id: string): Promise<RequestParent> {
    const parent = await this.parentReads.ask(id);
    if (!parent) throw SchedulerError.requestNotFound(id);
    return parent;
  }

  /** The same of a request that is most likely a job: where little goes on around it, it takes a fraction of the time. */
  async job(id: string): Promise<RequestParent | undefined> {
    return this.jobReads.ask(id);
  }

  async simple(id: string): Promise<RequestWithState> {
    const stored = await this.storedReads.ask(id);
    if (!stored) throw SchedulerError.requestNotFound(id);
    return { request: stored.request, state: stored.state, timestamp: stored.changedAt };
  }

  ids(filter: { requestIdLike?: string; state?: readonly RequestState[] }): Promise<string[]> {
    const { requestIdLike, state } = filter;
    return this.idReads.ask(JSON.stringify([requestIdLike, state]), async () => {
      const json = await this.requests.findIds(this.database.manager, filter);
      const kept = requestIdLike === undefined && state === undefined ? this.allIds : new KeptList<string>();
      return kept.of(json);
    });
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
      return shared(found);
    });
  }

  private async manyJobs(ids: readonly string[]): Promise<Map<string, RequestParent>> {
    const quiet = await this.quietJobs.find(this.database.manager, ids);
    const parents = shared(this.parents.ofQuietJobs([...quiet.values()]));
    const others = ids.filter((id) => !quiet.has(id));
    return others.length === 0 ? parents : new Map([...parents, ...(await this.manyParents(others))]);
  }

  private async manyStored(ids: readonly string[]): Promise<Map<string, StoredRequest>> {
    const found = await this.requests.findMany(this.database.manager, ids);
    return new Map(found.map((stored) => [stored.request.id, stored]));
  }
}

/** By id. Those who share the read do not write it each. */
function shared(parents: readonly RequestParent[]): Map<string, RequestParent> {
  for (const { taskIds, activeDeploy } of parents)
    [taskIds, activeDeploy].forEach((part) => part && neverChanges(part));
  return new Map(parents.map((parent) => [parent.request.id, parent]));
}
