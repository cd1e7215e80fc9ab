import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import {
  incarnationAt,
  newestVisible,
  type RequestIncarnation,
  type TimeRange,
  type RequestGroups,
  type User,
} from '../../../core/authorization/index.js';
import { andThen } from '../../../platform/async.js';
import { Database } from '../../../platform/database/database.js';
import type { Permit } from '../../../platform/database/permits.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Rows } from '../../../rows.js';
import { RequestGroupRepository } from '../../requests/groups/request-group.repository.js';
import { Access, type KnownRequest } from './access.service.js';
import { ElevatedAccess } from './elevated-access.service.js';
import type { CallArguments, NamedRequest } from './call.js';
import type { Need, RequestNeed } from './needs.js';

/** A call that may go on. */
export interface AllowedCall {
  /** Times that the answer may be about. */
  past: TimeRange;
  /** It has WRITE on everything it may be answered of, so nothing is kept secret. */
  writes: boolean;
  /** The basis of the permission, for calls that change something. Absent: nothing that could change. */
  permit?: Permit;
}

const everything: AllowedCall = { past: {}, writes: true };

/** Checks whether a caller has what the operation needs. */
@Injectable()
export class NeedsCheck {
  constructor(
    private readonly access: Access,
    private readonly rows: Rows,
    private readonly groups: RequestGroupRepository,
    private readonly db: Database,
    private readonly elevated: ElevatedAccess,
  ) {}

  check(need: Need, user: User, call: CallArguments): AllowedCall | Promise<AllowedCall> {
    switch (need.kind) {
      case 'admin':
      case 'globalRead':
      case 'readAll':
        this.access.require(user, { kind: need.kind });
        // Of all requests at once: who may read them all may not write them all.
        return { past: {}, writes: need.kind === 'admin' || this.access.isAdmin(user) };
      case 'depends':
        return this.check(need.on(call), user, call);
      case 'openable':
        return this.check(need.otherwise, user, call);
      case 'request':
        return this.checkRequests(need, user, call);
      case 'nothing':
      case 'caller':
      case 'list':
        return everything;
    }
  }

  private checkRequests(need: RequestNeed, user: User, call: CallArguments): AllowedCall | Promise<AllowedCall> {
    const named = need.requests(call);
    if (!this.access.isAdmin(user)) return this.checkGroups(need, user, call, named);
    return andThen(this.elevated.note(need, user, named), () => everything);
  }

  private async checkGroups(
    need: RequestNeed,
    user: User,
    call: CallArguments,
    named: readonly NamedRequest[],
  ): Promise<AllowedCall> {
    if (named.length === 0) this.refuseUnnamed(need, user);
    const groupId = need.replacesGroup?.(call);
    const all = await this.withMembers(this.db.pool, groupId, named);
    const parents = await this.newParents(this.db.pool, need, call, all);
    const ids = idsOf([...all, ...parents]);
    const seen = await this.access.find(this.db.pool, ids);
    const allowed = this.decide(need, user, call, all, seen);
    this.requireRead(need, user, parents, seen);
    await this.elevated.note(need, user, all);
    const hold = async (tx: Transaction): Promise<void> => {
      if (groupId !== undefined) await this.groups.lockId(tx, groupId);
      const held = await this.withMembers(tx, groupId, named);
      const present = await this.rows.requestAccess.lock(tx, idsOf([...held, ...parents]));
      const now = await this.access.find(tx, idsOf([...held, ...parents]), present);
      const isAsSeen = isDeepStrictEqual(now, seen);
      if (!isAsSeen) this.decide(need, user, call, held, now);
      const follows = parents.length > 0 || !isAsSeen ? await this.newParents(tx, need, call, held) : [];
      if (!isAsSeen || follows.length > parents.length) this.requireRead(need, user, follows, now);
    };
    return { ...allowed, permit: { requestIds: ids, hold } };
  }

  /** With the requests that are in a group now. */
  private async withMembers(
    tx: Queryable,
    groupId: string | undefined,
    named: readonly NamedRequest[],
  ): Promise<NamedRequest[]> {
    const group = groupId === undefined ? null : await this.groups.find(tx, groupId);
    return [...named, ...(group?.requestIds ?? []).map((id) => ({ id }))];
  }

  /** Requests that those of the call are to follow, and do not follow yet. */
  private async newParents(
    tx: Queryable,
    need: RequestNeed,
    call: CallArguments,
    named: readonly NamedRequest[],
  ): Promise<readonly NamedRequest[]> {
    const wanted = need.newParents?.(call) ?? [];
    if (wanted.length === 0) return [];
    const followed = await this.rows.flowGraph.parentIds(tx, idsOf(named));
    return wanted.filter(({ id }) => !followed.has(id));
  }

  /** Throws unless all of them may be read. One that is not there is refused like one that the caller may not read. */
  private requireRead(
    need: RequestNeed,
    user: User,
    parents: readonly NamedRequest[],
    known: ReadonlyMap<string, KnownRequest>,
  ): void {
    for (const { id } of parents) {
      const { allowed, reason } = this.access.decideById(user, 'READ', id, known.get(id)?.last?.groups);
      if (!allowed) throw new SchedulerError(need.refusal ?? 'FORBIDDEN', reason!);
    }
  }

  /** Refuses a call that does not name its request to the guard, which cannot allow it. */
  private refuseUnnamed({ unnamed }: RequestNeed, user: User): void {
    const message = 'The call does not name the request that it is about';
    if (unnamed === 'admin') this.access.require(user, { kind: 'admin' });
    else if (unnamed === 'forbidden') throw new SchedulerError('FORBIDDEN', message);
    else throw new SchedulerError('INVALID_PARAMETER', message);
  }

  /** Throws unless all of them may be acted on. */
  private decide(
    need: RequestNeed,
    user: User,
    call: CallArguments,
    named: readonly NamedRequest[],
    known: ReadonlyMap<string, KnownRequest>,
  ): AllowedCall {
    let past: TimeRange = {};
    let writes = true;
    for (const one of named) {
      const request = known.get(one.id)!;
      const seen = this.see(need, user, one, request);
      this.checkNew(need, user, call, one.id, request);
      past = seen.past;
      writes &&= seen.lives.every(({ groups }) => groups && this.access.may(user, 'WRITE', one.id, groups));
    }
    return { past, writes: writes && named.length > 0 };
  }

  /** The lives of the request that the call is answered of, or acts on. */
  private see(need: RequestNeed, user: User, { id, at }: NamedRequest, { lives, last }: KnownRequest): VisibleHistory {
    const mayRead = ({ groups }: RequestIncarnation): boolean =>
      groups !== undefined && need.scopes.every((scope) => this.access.may(user, scope, id, groups));
    const isThere = last !== undefined && !last.gone;
    let asked: readonly (RequestIncarnation | undefined)[] = [last];
    if (at !== undefined) asked = [incarnationAt(lives, at)];
    else if (need.past === 'all' || (need.creates && !isThere)) asked = lives.length > 0 ? lives : [last];
    else if (need.past === 'some') {
      const seen = newestVisible(lives, mayRead);
      if (seen) return seen;
    }
    // A request of an id that none has had yet is judged by what it is to be.
    if (need.creates && lives.length === 0) asked = [];
    for (const life of asked) this.require(need, user, id, life?.groups);
    return { past: {}, lives: asked.flatMap((life) => life ?? []) };
  }

  private require(need: RequestNeed, user: User, id: string, groups: RequestGroups | undefined): void {
    for (const scope of need.scopes) {
      const { allowed, reason } = this.access.decideById(user, scope, id, groups, need.action);
      if (!allowed) throw new SchedulerError(need.refusal ?? 'FORBIDDEN', reason!);
    }
  }

  /** Checks the groups that the call wants the request to have from now on. */
  private checkNew(need: RequestNeed, user: User, call: CallArguments, id: string, { last }: KnownRequest): void {
    const wanted = need.newGroups?.(call);
    if (!wanted) return;
    if (last && !last.gone) this.access.requireRegroup(user, id, { stored: last.groups, wanted }, need.refusal);
    if (!need.writesNew) return;
    const scopes = need.scopes.includes('DEPLOY') ? (['WRITE', 'DEPLOY'] as const) : (['WRITE'] as const);
    for (const scope of scopes)
      this.access.require(user, { kind: 'request', scope, requestId: id, groups: wanted }, need.refusal);
  }
}

const idsOf = (named: readonly NamedRequest[]): string[] => [...new Set(named.map(({ id }) => id))];

interface VisibleHistory {
  past: TimeRange;
  lives: readonly RequestIncarnation[];
}
