import { Injectable } from '@nestjs/common';
import { isRelevantFor, type ReadSight, type RelevanceFacts, type User } from '../../core/authorization/index.js';
import type { RequestState, RequestType } from '../../core/model/enums.js';
import type { RequestParent } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type PageQuery } from '../../platform/database/keyset.js';
import { momentOf } from '../../platform/database/moment.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges } from '../../platform/http/json.js';
import { KeptLists, SharedReads } from '../../platform/reads/reads.js';
import { Access } from '../auth/access/access.service.js';
import { UserSettingsRepository } from '../users/user-settings.repository.js';
import { RequestHistoryRepository } from './request-history.repository.js';
import { RequestParents } from './request-parents.service.js';
import { RequestRepository, type StoredRequest } from './request.repository.js';

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

/** Times of schedules are worked out for each call: for so many entries at most. */
const mostWithNextRuns = 100;

/** Lists that are kept of one read: callers choose types and limits. */
const mostChoices = 8;

/** Requests in all lists that are kept, some kilobytes each with their JSON. */
const mostKept = 10_000;

/** Lists of requests. Calls for the same states at the same time share one read. */
@Injectable()
export class RequestLists {
  private readonly briefReads = new SharedReads<readonly RequestParent[]>();
  private readonly keptBriefs = new KeptLists<RequestParent>(mostKept);
  private readonly settingsReads = new SharedReads<readonly string[]>();
  /** By what was read, and what was asked of it: lists for callers who see all and prefer none, with their JSON. */
  private readonly listsOfAll = new WeakMap<readonly RequestParent[], Map<string, RequestParent[]>>();

  constructor(
    private readonly database: Database,
    private readonly requests: RequestRepository,
    private readonly history: RequestHistoryRepository,
    private readonly parents: RequestParents,
    private readonly access: Access,
    private readonly settings: UserSettingsRepository,
  ) {}

  /** What the caller may read: starred requests first, then by the time of the last action. */
  async list(filter: RequestListFilter, user: User): Promise<RequestParent[]> {
    if (!filter.nextRuns) return this.entries(filter, user);
    refuseBeyondNextRuns(filter.limit);
    const entries = await this.entries(filter, user);
    const ids = entries.map(({ request }) => request.id);
    const found = await this.requests.findMany(this.database.pool, ids);
    const nextRuns = new Map(found.map((stored) => [stored.request.id, this.parents.nextRuns(stored)]));
    return entries.map((parent) => ({ ...parent, nextRuns: nextRuns.get(parent.request.id) }));
  }

  /**
   * A page of them, in the order of ids. Those that the caller may not read are left out by the statement; what concerns the caller is
   * found by reading on until the page is full.
   */
  page(filter: Omit<RequestListFilter, 'limit'>, page: PageQuery, user: User): Promise<ListPage<RequestParent>> {
    if (filter.nextRuns) refuseBeyondNextRuns(page.limit);
    const { states, requestType: types } = filter;
    const seen = { states, types, sight: this.access.sightOf(user) };
    return this.database.snapshot(async (tx) => {
      const starred = new Set(filter.filterRelevantForUser ? await this.starredBy(user, tx) : []);
      const entries: RequestParent[] = [];
      for (let { after } = page; ;) {
        const stored = await this.requests.findSeenPage(tx, seen, { ...page, after });
        entries.push(...(await this.pageEntries(tx, stored, filter, user, starred)));
        if (stored.length <= page.limit || entries.length > page.limit) break;
        after = stored.at(-1)!.request.id;
      }
      return ListPage.of(entries, page.limit, ({ request }) => request.id);
    });
  }

  private async pageEntries(
    tx: Transaction,
    stored: readonly StoredRequest[],
    { filterRelevantForUser, includeFullRequestData, nextRuns }: RequestListFilter,
    user: User,
    starred: ReadonlySet<string>,
  ): Promise<RequestParent[]> {
    const ids = stored.map(({ request }) => request.id);
    const parents = includeFullRequestData
      ? await this.parents.withTasks(tx, ids)
      : await this.parents.brief(tx, stored);
    if (nextRuns) parents.forEach((parent, index) => (parent.nextRuns = this.parents.nextRuns(stored[index]!)));
    if (!filterRelevantForUser) return parents;
    const users = includeFullRequestData ? await this.history.lastEventUsers(tx, ids) : new Map<string, string>();
    return parents.filter((parent) => isRelevantFor(user, relevance(parent, starred, users)));
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
    const readable = brief.filter(
      ({ request }) => (filter.requestType?.includes(request.requestType) ?? true) && mayRead(request),
    );
    if (includeFullRequestData) return this.detailed(readable, filter, user, starred);
    return chosen(readable, filter, user, starred);
  }

  private async starredBy(user: User, tx: Queryable = this.database.pool): Promise<readonly string[]> {
    return (await this.settings.find(tx, user.id))?.starredRequestIds ?? [];
  }

  private listOfAll(brief: readonly RequestParent[], filter: RequestListFilter, user: User): RequestParent[] {
    const lists = this.listsOfAll.get(brief) ?? new Map<string, RequestParent[]>();
    this.listsOfAll.set(brief, lists);
    const key = JSON.stringify([filter.requestType, filter.limit]);
    let list = lists.get(key);
    if (!list) {
      if (lists.size >= mostChoices) lists.clear();
      const ofType = brief.filter(({ request }) => filter.requestType?.includes(request.requestType) ?? true);
      lists.set(key, (list = neverChanges(chosen(ofType, filter, user, new Set()))));
    }
    return list;
  }

  /** Callers who see the same share it. */
  private async brief(
    states: readonly RequestState[] | undefined,
    sight: ReadSight,
  ): Promise<readonly RequestParent[]> {
    if (sight.kind === 'none') return [];
    const key = (states?.join() ?? '') + JSON.stringify(sight);
    const make = async (tx: Transaction): Promise<readonly RequestParent[]> => {
      const found = await this.parents.brief(tx, await this.requests.findSeen(tx, states, sight));
      return found.map(neverChanges);
    };
    return this.briefReads.ask(key, () =>
      this.database.snapshot(async (tx) => this.keptBriefs.read(key, await momentOf(tx), () => make(tx))),
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
      const times = await this.history.lastEventTimes(tx, all);
      const users = await this.history.lastEventUsers(tx, all);
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

/** When the newest event of each request was, and who caused it. */
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
