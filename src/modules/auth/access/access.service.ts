import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  decide,
  isAdmin,
  writersNeededToRegroup,
  type AccessScope,
  type Decision,
  type Question,
  type RequestGroups,
  type User,
} from '../../../core/authorization/index.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError, type ErrorCode } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RequestAccessRepository } from '../../requests/request-access.repository.js';

/** A request that a call is about: its groups, those of its history, or nothing that is known of it. */
export type FoundGroups = { groups: RequestGroups; gone: boolean } | undefined;

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

  /** By the request with this id; when it is gone, as its history saw it last; without any trace, administrators only. */
  decideById(user: User, scope: AccessScope, requestId: string, found: FoundGroups): Decision {
    if (found) return this.decide(user, { kind: 'request', scope, requestId, groups: found.groups });
    const { allowed } = this.decide(user, { kind: 'admin' });
    const reason = `Nothing is known of a request '${requestId}', so only administrators are told about it`;
    return allowed ? { allowed } : { allowed, reason };
  }

  async findGroups(requestIds: readonly string[]): Promise<Map<string, FoundGroups>> {
    const present = await this.requests.find(this.db.manager, requestIds);
    const others = requestIds.filter((id) => !present.has(id));
    const former = others.length > 0 ? await this.requests.findFormer(this.db.manager, others) : new Map();
    return new Map([
      ...[...present].map(([id, groups]): [string, FoundGroups] => [id, { groups, gone: false }]),
      ...[...former].map(([id, groups]): [string, FoundGroups] => [id, { groups, gone: true }]),
    ]);
  }

  /** Which of these exist and may be read, and which of them be written. Administrators may see those that are gone. */
  async sort(user: User, requestIds: readonly string[]): Promise<{ readable: Sight; writable: Sight }> {
    if (this.isAdmin(user)) return { readable: () => true, writable: () => true };
    const groups = await this.requests.find(this.db.manager, [...new Set(requestIds)]);
    const within = (scope: AccessScope): Sight => {
      const ids = [...groups].filter(([requestId, of]) => this.may(user, scope, requestId, of)).map(([id]) => id);
      const allowed = new Set(ids);
      return (id) => allowed.has(id);
    };
    return { readable: within('READ'), writable: within('WRITE') };
  }

  /** Which of the requests that are there a caller may read. */
  readableBy(user: User): (request: RequestGroups & { id: string }) => boolean {
    if (this.isAdmin(user)) return () => true;
    return (request) => this.may(user, 'READ', request.id, request);
  }

  /** Whether a caller could write all of these, gone or not. */
  async writesAll(user: User, requestIds: readonly string[]): Promise<boolean> {
    const found = await this.findGroups(requestIds);
    return requestIds.every((id) => {
      const known = found.get(id);
      return known !== undefined && this.may(user, 'WRITE', id, known.groups);
    });
  }

  /** A change of the groups of a request takes it from some groups and gives it to others, and needs WRITE of both. */
  requireRegroup(user: User, requestId: string, change: RegroupChange, refusal?: ErrorCode): void {
    for (const groups of writersNeededToRegroup(this.settings.auth, change.stored, change.wanted)) {
      this.require(user, { kind: 'request', scope: 'WRITE', requestId, groups }, refusal);
    }
  }

  /** Without a line in the log: no operation was asked for. */
  private may(user: User, scope: AccessScope, requestId: string, groups: RequestGroups): boolean {
    return decide(this.settings.auth, user, { kind: 'request', scope, requestId, groups }).allowed;
  }
}

export type Sight = (requestId: string) => boolean;
interface RegroupChange {
  stored: RequestGroups;
  wanted: RequestGroups;
}
