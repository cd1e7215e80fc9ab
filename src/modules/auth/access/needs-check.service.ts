import { Injectable } from '@nestjs/common';
import type { User } from '../../../core/authorization/index.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Access, type FoundGroups } from './access.service.js';
import type { Call } from './call.js';
import type { Need, RequestNeed } from './needs.js';

/** Checks whether a caller has what the operation needs. */
@Injectable()
export class NeedsCheck {
  constructor(private readonly access: Access) {}

  async check(need: Need, user: User, call: Call): Promise<void> {
    switch (need.kind) {
      case 'admin':
      case 'globalRead':
      case 'readAll':
        return this.access.require(user, { kind: need.kind });
      case 'depends':
        return this.check(need.on(call), user, call);
      case 'openable':
        return this.check(need.otherwise, user, call);
      case 'request':
        return this.checkRequests(need, user, call);
      case 'nothing':
      case 'caller':
      case 'list':
    }
  }

  private async checkRequests(need: RequestNeed, user: User, call: Call): Promise<void> {
    const ids = [...new Set(need.requestIds(call))];
    if (ids.length === 0 && need.unnamed === 'admin') this.access.require(user, { kind: 'admin' });
    const found = await this.access.findGroups(ids);
    for (const id of ids) this.checkRequest(need, user, call, { id, found: found.get(id) });
  }

  private checkRequest(need: RequestNeed, user: User, call: Call, { id, found }: Named): void {
    const isThere = found && !found.gone;
    if (isThere || !need.unfound) {
      for (const scope of need.scopes) {
        const { allowed, reason } = this.access.decideById(user, scope, id, found);
        if (!allowed) throw new SchedulerError(need.refusal ?? 'FORBIDDEN', reason!);
      }
    }
    const wanted = need.newGroups?.(call);
    if (!wanted) return;
    if (isThere) this.access.requireRegroup(user, id, { stored: found.groups, wanted }, need.refusal);
    if (!need.writesNew) return;
    this.access.require(user, { kind: 'request', scope: 'WRITE', requestId: id, groups: wanted }, need.refusal);
  }
}

interface Named {
  id: string;
  found: FoundGroups;
}
