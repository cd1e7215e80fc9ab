import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { Request, RequestParent, UpdateGroupsRequest } from '../../core/model/request.js';
import { refuseUpdate } from '../../core/requests/action-rules.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { RequestActions, throwIf } from './request-actions.service.js';
import { RequestChanges } from './request-changes.service.js';
import { RequestChecks } from './request-checks.service.js';
import { RequestParents } from './request-parents.service.js';
import { RequestSaves } from './request-saves.service.js';
import type { StoredRequest } from './request.repository.js';

/** Creates and updates requests. The first call with an id creates the request, every later one updates it. */
@Injectable()
export class RequestsService {
  constructor(
    private readonly saves: RequestSaves,
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly parents: RequestParents,
    private readonly database: Database,
  ) {}

  async saveRequest(sent: Request, caller: User): Promise<RequestParent> {
    if (!sent.id) {
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'id', rule: 'required', message: 'id is required' }]);
    }
    const { parent, saved } = await this.database.transaction(
      async (tx) => {
        const done = await this.saves.save(tx, sent, caller);
        const isNew = done.outcome === 'CREATED';
        return { saved: done, parent: isNew ? this.parents.ofNew(done.stored) : await this.parent(tx, done.stored) };
      },
      [sent.id],
    );
    this.saves.saved(saved);
    return parent;
  }

  /** Replaces the groups of a request. */
  updateGroups(id: string, groups: UpdateGroupsRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, [], async (tx, locked) => {
      const { group, readWriteGroups = [], readOnlyGroups = [], message } = groups;
      const next = { ...locked.stored.request, group, readWriteGroups, readOnlyGroups };
      throwIf(refuseUpdate(locked.facts));
      const checked = await this.checks.valid(tx, next, locked.stored);
      const note = { eventType: 'UPDATED', now: locked.now, user: caller.email, message } as const;
      return this.parent(tx, await this.changes.apply(tx, locked.stored, checked, note));
    });
  }

  private async parent(tx: Transaction, stored: StoredRequest): Promise<RequestParent> {
    return this.parents.around(tx, stored);
  }
}
