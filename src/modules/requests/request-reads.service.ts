import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { RequestState } from '../../core/model/enums.js';
import type { RequestBatch, RequestCleanup, RequestParent, RequestWithState } from '../../core/model/request.js';
import type { PendingRequest } from '../../core/model/task.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../platform/database/keyset.js';
import { momentOf } from '../../platform/database/moment.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges, toJson } from '../../platform/http/json.js';
import { BatchedRead, SharedReads } from '../../platform/reads/reads.js';
import { fromJson, type FromJson, VersionedCache } from '../../platform/reads/versioned-cache.js';
import { Access } from '../auth/access/access.service.js';
import { Rows } from '../../rows.js';
import { RequestParents, shownPendingRequest } from './request-parents.service.js';

/** Reads of requests: each from one snapshot, so that its parts agree. Calls at the same time share one read. */
@Injectable()
export class RequestReads {
  private readonly reads = new BatchedRead((ids: readonly string[]) => this.many(ids));
  private readonly simpleReads = new BatchedRead((ids: readonly string[]) => this.manySimple(ids));
  private readonly keptSimple = new VersionedCache<RequestWithState>(mostKept, (record) => toJson(record).length);
  private readonly idReads = new SharedReads<string[]>();
  private readonly allIds = new VersionedCache<FromJson<string[]>>(1);

  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly access: Access,
  ) {}

  one(id: string): Promise<RequestParent> {
    return this.find(id).then((parent) => {
      if (!parent) throw SchedulerError.requestNotFound(id);
      return parent;
    });
  }

  find(id: string): Promise<RequestParent | undefined> {
    return this.reads.ask(id);
  }

  simple(id: string): Promise<RequestWithState> {
    return this.simpleReads.ask(id).then((found) => {
      if (!found) throw SchedulerError.requestNotFound(id);
      return found;
    });
  }

  /** A page of the ids that the caller may read. */
  async idsPage(
    filter: { requestIdLike?: string; state?: readonly RequestState[] },
    page: KeysetPage,
    user: User,
  ): Promise<ListPage<string>> {
    const sight = this.access.sightOf(user);
    const found = await this.rows.requests.findIdsPage(this.database.pool, { ...filter, sight }, page);
    return ListPage.of(found, page.limit, (id) => id);
  }

  /** Ids of the requests that the caller may read. */
  async ids(filter: { requestIdLike?: string; state?: readonly RequestState[] }, user: User): Promise<string[]> {
    const { requestIdLike, state } = filter;
    const sight = this.access.sightOf(user);
    if (sight.kind === 'none') return [];
    const { pool } = this.database;
    const read = async (former?: FromJson<string[]>): Promise<FromJson<string[]>> =>
      fromJson(await this.rows.requests.findIds(pool, { ...filter, sight }), former);
    const isAll = requestIdLike === undefined && state === undefined && sight.kind === 'all';
    return this.idReads.ask(JSON.stringify([requestIdLike, state, sight]), async () => {
      const found = isAll ? await this.allIds.get('all', await momentOf(pool), read) : await read();
      return found.value;
    });
  }

  batch(ids: readonly string[]): Promise<RequestBatch> {
    return this.database.snapshot(async (tx) => {
      const requests = await this.parents.find(tx, ids);
      const found = new Set(requests.map(({ request }) => request.id));
      return { requests, notFound: [...new Set(ids)].filter((id) => !found.has(id)) };
    });
  }

  queuedCleanups(): Promise<RequestCleanup[]> {
    return this.rows.requestCleanups.find(this.database.pool);
  }

  async queuedRequests(): Promise<PendingRequest[]> {
    return (await this.rows.pendingRequests.list(this.database.pool)).map(shownPendingRequest);
  }

  private async many(ids: readonly string[]): Promise<Map<string, RequestParent>> {
    const found = await this.parents.read(ids);
    // Those who share the read do not write it each.
    for (const { taskIds, activeDeploy } of found.values())
      [taskIds, activeDeploy].forEach((part) => part && neverChanges(part));
    return found;
  }

  /**
   * Asks each time for the version of each row; the row is read, and its JSON written, only when the version is another
   * one.
   */
  private async manySimple(ids: readonly string[]): Promise<Map<string, RequestWithState>> {
    const { pool } = this.database;
    return this.keptSimple.many(await this.rows.requests.findVersions(pool, ids), async (others) => {
      const found = await this.rows.requests.findMany(pool, [...others.keys()]);
      return new Map(
        found.map(({ request, state, changedAt }) => [
          request.id,
          neverChanges({ request, state, timestamp: changedAt }),
        ]),
      );
    });
  }
}

/** Characters of JSON of short records of requests that are kept. */
const mostKept = 20_000_000;
