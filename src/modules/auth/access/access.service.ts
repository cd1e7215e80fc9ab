import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  decide,
  isAdmin,
  incarnationsOf,
  mayCreateRequests,
  readFilter,
  writersNeededToRegroup,
  type AccessScope,
  type Decision,
  type RequestIncarnation,
  type Question,
  type ReadFilter,
  type RequestGroups,
  type User,
} from '../../../core/authorization/index.js';
import type { UserAction } from '../../../core/model/enums.js';
import { Database } from '../../../platform/database/database.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { SchedulerError, type ErrorCode } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RequestAccessRepository } from '../../requests/request-access.repository.js';

/** The requests that have, or had, an id. */
export interface KnownRequest {
  /** The one that is there, or the last one as its history saw it. */
  last?: { groups: RequestGroups; gone: boolean };
  /** Oldest first. */
  lives: readonly RequestIncarnation[];
}

/** Stands for the groups of a request that the caller is told nothing about, not even whether it exists. */
const untold: RequestGroups = { group: '(those of the request)' };

/** Asks, on behalf of operations, whether a caller may do something. */
@Injectable()
export class Access {
  private readonly log = new Logger(Access.name);

  constructor(
    private readonly db: Database,
    private readonly requests: RequestAccessRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** false: every caller may do everything. */
  get enabled(): boolean {
    return this.settings.auth.enabled;
  }

  isAdmin(user: User): boolean {
    return isAdmin(this.settings.auth, user);
  }

  mayCreateRequests(user: User): boolean {
    return mayCreateRequests(this.settings.auth, user);
  }

  decide(user: User, question: Question): Decision {
    const decision = decide(this.settings.auth, user, question);
    if (decision.difference !== undefined) this.log.warn(decision.difference);
    // A caller used a right that is meant for emergencies only.
    if (decision.allowed && decision.reason !== undefined) this.log.warn(decision.reason);
    return decision;
  }

  require(user: User, question: Question, refusal: ErrorCode = 'FORBIDDEN'): void {
    const { allowed, reason } = this.decide(user, question);
    if (!allowed) throw new SchedulerError(refusal, reason!);
  }

  /**
   * By the groups of the request, if anything is known of it. A caller who may not read it gets the same answer whether it
   * exists or not.
   */
  decideById(
    user: User,
    scope: AccessScope,
    requestId: string,
    groups: RequestGroups | undefined,
    action?: UserAction,
  ): Decision {
    if (groups && (this.may(user, scope, requestId, groups) || this.may(user, 'READ', requestId, groups))) {
      return this.decide(user, { kind: 'request', scope, requestId, groups, action });
    }
    const decision = this.decide(user, { kind: 'request', scope, requestId, groups: untold });
    return groups && decision.allowed ? { allowed: false, reason: `'${user.id}' may not ${scope} this` } : decision;
  }

  /** `present`: the groups of those that are there, when they were read already. */
  async find(
    tx: Queryable,
    requestIds: readonly string[],
    present?: ReadonlyMap<string, RequestGroups>,
  ): Promise<Map<string, KnownRequest>> {
    const there = present ?? (await this.requests.find(tx, requestIds));
    const others = requestIds.filter((id) => !there.has(id));
    const former = others.length > 0 ? await this.requests.findFormer(tx, others) : new Map<string, RequestGroups>();
    const ended = await this.requests.findEnded(tx, requestIds);
    return new Map(
      requestIds.map((id): [string, KnownRequest] => {
        const groups = there.get(id) ?? former.get(id);
        const last = groups && { groups, gone: !there.has(id) };
        const lives = incarnationsOf(
          ended.filter((one) => one.id === id),
          last,
        );
        return [id, { last, lives }];
      }),
    );
  }

  /**
   * Filters for those of these requests that exist and may be read, and that may be written. Administrators may see
   * those that are gone.
   */
  async sort(
    user: User,
    requestIds: readonly string[],
    tx: Queryable = this.db.pool,
  ): Promise<{ readable: RequestFilter; writable: RequestFilter }> {
    if (this.isAdmin(user)) return { readable: () => true, writable: () => true };
    const groups = await this.requests.find(tx, [...new Set(requestIds)]);
    const within = (scope: AccessScope): RequestFilter => {
      const ids = [...groups].filter(([requestId, of]) => this.may(user, scope, requestId, of)).map(([id]) => id);
      const allowed = new Set(ids);
      return (id) => allowed.has(id);
    };
    return { readable: within('READ'), writable: within('WRITE') };
  }

  /** Filter for the existing requests that a caller may read. */
  readableBy(user: User): (request: RequestGroups & { id: string }) => boolean {
    if (this.isAdmin(user)) return () => true;
    return (request) => this.may(user, 'READ', request.id, request);
  }

  /** Filter for a list, before any request of it is read. */
  sightOf(user: User): ReadFilter {
    return readFilter(this.settings.auth, user);
  }

  /** A change of the groups of a request takes it from some groups and gives it to others, and needs WRITE of both. */
  requireRegroup(user: User, requestId: string, change: RegroupChange, refusal?: ErrorCode): void {
    for (const groups of writersNeededToRegroup(this.settings.auth, change.stored, change.wanted)) {
      this.require(user, { kind: 'request', scope: 'WRITE', requestId, groups }, refusal);
    }
  }

  /** Decides a question about the whole cluster; as `may`. */
  mayAsk(user: User, question: Question): boolean {
    return decide(this.settings.auth, user, question).allowed;
  }

  /** Without a line in the log: no operation was asked for. */
  may(user: User, scope: AccessScope, requestId: string, groups: RequestGroups): boolean {
    return decide(this.settings.auth, user, { kind: 'request', scope, requestId, groups }).allowed;
  }
}

export type RequestFilter = (requestId: string) => boolean;
interface RegroupChange {
  stored: RequestGroups;
  wanted: RequestGroups;
}
