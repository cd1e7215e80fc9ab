import { Injectable } from '@nestjs/common';
import { isRelevantFor, type ReadFilter, type RelevanceFacts, type User } from '../../core/authorization/index.js';
import type { RequestState, RequestType } from '../../core/model/enums.js';
import type { RequestParent } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../platform/database/keyset.js';
import { momentOf } from '../../platform/database/moment.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges } from '../../platform/http/json.js';
import { SharedReads } from '../../platform/reads/reads.js';
import { VersionedCache } from '../../platform/reads/versioned-cache.js';
import { Access } from '../auth/access/access.service.js';
import { Rows } from '../../rows.js';
import { RequestParents } from './request-parents.service.js';
import type { StoredRequest } from './request.repository.js';

export interface RequestListFilter {
  /** Absent: in any state. */
  states?: readonly RequestState[];
  requestType?: readonly RequestType[];
  includeFullRequestData?: boolean;
  /** Only what concerns the caller; without effect while callers are unknown. */
  filterRelevantForUser?: boolean;
  limit?: number;
  /** Also when each runs next. */
  nextRuns?: boolean;
}

/** A list as it was read in one snapshot. Deploys never change, so that it is right as long as the rows of requests are the same. */
interface BriefList {
  version: string;
  parents: readonly RequestParent[];
}

interface PageEntry {
  stored: StoredRequest;
  parent: RequestParent;
}

/** Requests in one statement, of which only those that concern the caller are listed. */
const fewestLookedAt = 500;

/** Times of schedules are worked out for each call: for so many entries at most. */
const mostWithNextRuns = 100;

/** Requests in all lists of one kind that are kept, some kilobytes each with their JSON. */
const mostKept = 10_000;

/** Lists of requests. Calls for the same states at the same time share one read. */
@Injectable()
export class RequestLists {
  private readonly briefReads = new SharedReads<BriefList>();
  private readonly keptBriefs = new VersionedCache<BriefList>(mostKept, ({ parents }) => parents.length + 1);
  private readonly settingsReads = new SharedReads<readonly string[]>();
  private readonly listsOfAll = new VersionedCache<RequestParent[]>(mostKept, ({ length }) => length + 1);

  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly access: Access,
  ) {}

  /** The requests that the caller may read: starred ones first, then by the time of the last action. */
  async list(filter: RequestListFilter, user: User): Promise<RequestParent[]> {
    if (!filter.nextRuns) return this.entries(filter, user);
    refuseBeyondNextRuns(filter.limit);
    const entries = await this.entries(filter, user);
    const ids = entries.map(({ request }) => request.id);
    const found = await this.rows.requests.findMany(this.database.pool, ids);
    const nextRuns = new Map(found.map((stored) => [stored.request.id, this.parents.nextRuns(stored)]));
    return entries.map((parent) => ({ ...parent, nextRuns: nextRuns.get(parent.request.id) }));
  }

  /**
   * A page of them, in the order of ids. Those that the caller may not read are left out by the statement; what concerns the caller is
   * found by reading on until the page is full.
   */
  page(filter: Omit<RequestListFilter, 'limit'>, page: KeysetPage, user: User): Promise<ListPage<RequestParent>> {
    const { includeFullRequestData, nextRuns } = filter;
    if (nextRuns) refuseBeyondNextRuns(page.limit);
    return this.database.snapshot(async (tx) => {
      const { members, next } = await this.findPage(tx, filter, page, user);
      const ids = members.map(({ stored }) => stored.request.id);
      const parents = includeFullRequestData
        ? await this.parents.withTasks(tx, ids)
        : members.map(({ parent }) => parent);
      if (nextRuns) parents.forEach((one, index) => (one.nextRuns = this.parents.nextRuns(members[index]!.stored)));
      return new ListPage(parents, next);
    });
  }

  private async findPage(
    tx: Transaction,
    { states, requestType: types, includeFullRequestData, filterRelevantForUser }: RequestListFilter,
    page: KeysetPage,
    user: User,
  ): Promise<ListPage<PageEntry>> {
    const seen = { states, types, sight: this.access.sightOf(user) };
    const starred = new Set(filterRelevantForUser ? await this.starredBy(user, tx) : []);
    const limit = filterRelevantForUser ? Math.max(page.limit, fewestLookedAt) : page.limit;
    const entries: PageEntry[] = [];
    for (let { after } = page; ;) {
      const found = await this.rows.requests.findSeenPage(tx, seen, { after, limit });
      const parents = await this.parents.brief(tx, found);
      const ids = filterRelevantForUser && includeFullRequestData ? found.map(({ request }) => request.id) : [];
      const users = ids.length > 0 ? await this.rows.requestHistory.lastEventUsers(tx, ids) : undefined;
      const isShown = (parent: RequestParent): boolean =>
        !filterRelevantForUser || isRelevantFor(user, relevance(parent, starred, users));
      const looked = parents.map((parent, index): PageEntry => ({ parent, stored: found[index]! }));
      entries.push(...looked.filter(({ parent }) => isShown(parent)));
      if (found.length <= limit || entries.length > page.limit) break;
      after = found.at(-1)!.request.id;
    }
    return ListPage.of(entries, page.limit, ({ stored }) => stored.request.id);
  }

  private async entries(filter: RequestListFilter, user: User): Promise<RequestParent[]> {
    const [brief, stars] = await Promise.all([
      this.brief(filter.states, this.access.sightOf(user)),
      this.settingsReads.ask(user.id, () => this.starredBy(user)),
    ]);
    const { includeFullRequestData, filterRelevantForUser } = filter;
    const isForAll = stars.length === 0 && !includeFullRequestData && !filterRelevantForUser;
    if (isForAll && this.access.isAdmin(user)) return this.listOfAll(brief, filter, user);
    const starred = new Set(stars);
    const mayRead = this.access.readableBy(user);
    const readable = brief.parents.filter(
      ({ request }) => (filter.requestType?.includes(request.requestType) ?? true) && mayRead(request),
    );
    if (includeFullRequestData) return this.detailed(readable, filter, user, starred);
    return chosen(readable, filter, user, starred);
  }

  private starredBy(user: User, tx: Queryable = this.database.pool): Promise<readonly string[]> {
    return this.rows.userSettings.starred(tx, user.id);
  }

  /** For callers who see all and prefer none: with its JSON, as long as no request changes. */
  private listOfAll({ version, parents }: BriefList, filter: RequestListFilter, user: User): Promise<RequestParent[]> {
    const { states, requestType, limit } = filter;
    return this.listsOfAll.get(JSON.stringify([states, requestType, limit]), version, () => {
      const ofType = parents.filter(({ request }) => requestType?.includes(request.requestType) ?? true);
      return Promise.resolve(neverChanges(chosen(ofType, filter, user, new Set())));
    });
  }

  /** Callers who see the same share it. */
  private async brief(states: readonly RequestState[] | undefined, sight: ReadFilter): Promise<BriefList> {
    if (sight.kind === 'none') return { version: '', parents: [] };
    const key = (states?.join() ?? '') + JSON.stringify(sight);
    return this.briefReads.ask(key, () =>
      this.database.snapshot(async (tx) => {
        const moment = await momentOf(tx);
        return this.keptBriefs.get(key, moment, async (former) => {
          // Most of what is committed changes no request.
          const version = await this.rows.requests.versionOfSeen(tx, states, sight);
          if (former?.version === version) return former;
          const found = await this.parents.brief(tx, await this.rows.requests.findSeen(tx, states, sight));
          return { version, parents: found.map(neverChanges) };
        });
      }),
    );
  }

  private detailed(
    readable: readonly RequestParent[],
    filter: RequestListFilter,
    user: User,
    starred: ReadonlySet<string>,
  ): Promise<RequestParent[]> {
    return this.database.snapshot(async (tx) => {
      const all = readable.map(({ request }) => request.id);
      const times = await this.rows.requestHistory.lastEventTimes(tx, all);
      const users = await this.rows.requestHistory.lastEventUsers(tx, all);
      const ids = chosen(readable, filter, user, starred, { times, users }).map(({ request }) => request.id);
      const detailed = await this.parents.withTasks(tx, ids);
      const byId = new Map(detailed.map((parent) => [parent.request.id, parent]));
      // One may have been removed since the list was read.
      return ids.flatMap((id) => byId.get(id) ?? []);
    });
  }
}

function refuseBeyondNextRuns(limit: number | undefined): void {
  if (limit !== undefined && limit <= mostWithNextRuns) return;
  const message = `nextRuns needs a limit of at most ${mostWithNextRuns}`;
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'limit', rule: 'maximum', message }]);
}

/** Time of the newest event of each request, and the user who caused it. */
interface LastEvents {
  times: ReadonlyMap<string, number>;
  users: ReadonlyMap<string, string>;
}

function chosen(
  parents: readonly RequestParent[],
  { filterRelevantForUser, limit }: RequestListFilter,
  user: User,
  starred: ReadonlySet<string>,
  lastEvents?: LastEvents,
): RequestParent[] {
  const relevant = filterRelevantForUser
    ? parents.filter((parent) => isRelevantFor(user, relevance(parent, starred, lastEvents?.users)))
    : parents;
  const rank = (parent: RequestParent): number => (starred.has(parent.request.id) ? 1 : 0);
  const lastAction = (parent: RequestParent): number => lastActionAt(parent, lastEvents);
  return relevant.toSorted((a, b) => rank(b) - rank(a) || lastAction(b) - lastAction(a)).slice(0, limit);
}

const relevance = (
  { request, requestDeployState }: RequestParent,
  starred: ReadonlySet<string>,
  lastUsers: ReadonlyMap<string, string> | undefined,
): RelevanceFacts => ({
  group: request.group,
  starred: starred.has(request.id),
  actedBy: [
    requestDeployState?.activeDeploy?.user,
    requestDeployState?.pendingDeploy?.user,
    lastUsers?.get(request.id),
  ],
});

/** The deploy counts, and, where the history was looked at, the newest event. */
function lastActionAt({ request, requestDeployState }: RequestParent, lastEvents: LastEvents | undefined): number {
  const active = requestDeployState?.activeDeploy?.timestamp;
  const pending = requestDeployState?.pendingDeploy?.timestamp;
  if (!lastEvents) return active ?? pending ?? 0;
  return Math.max(lastEvents.times.get(request.id) ?? 0, active ?? 0, pending ?? 0);
}
