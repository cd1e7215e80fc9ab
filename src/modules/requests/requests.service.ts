import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { instancesOf, type Request, type RequestParent, type UpdateGroupsRequest } from '../../core/model/request.js';
import { refuseUpdate } from '../../core/requests/action-rules.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestActions, throwIf } from './request-actions.service.js';
import { RequestChanges } from './request-changes.service.js';
import { RequestChecks } from './request-checks.service.js';
import { RequestCleanupRepository } from './request-cleanup.repository.js';
import { RequestHistoryRepository } from './request-history.repository.js';
import { RequestParents } from './request-parents.service.js';
import { RequestRepository, type StoredRequest } from './request.repository.js';

/** Creates and updates requests. The first call with an id creates the request, every later one updates it. */
@Injectable()
export class RequestsService {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly requests: RequestRepository,
    private readonly cleanups: RequestCleanupRepository,
    private readonly history: RequestHistoryRepository,
    private readonly parents: RequestParents,
    private readonly disabled: DisabledActions,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  async saveRequest(sent: Request, caller: Caller): Promise<RequestParent> {
    if (!sent.id) {
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'id', rule: 'required', message: 'id is required' }]);
    }
    const { parent, isNew } = await this.database.transaction(
      async (tx) => {
        for (;;) {
          const updated = await this.update(tx, sent, caller);
          if (updated) return { parent: await this.parent(tx, updated), isNew: false };
          const created = await this.create(tx, sent, caller);
          if (created) return { parent: this.parents.ofNew(created), isNew: true };
          // Another caller created or removed it between the two looks: look again.
        }
      },
      [sent.id],
    );
    // A new request has no deploy, so there is nothing to be done for it yet.
    if (!isNew) this.wake.signalOf([parent.request.id], 'scheduler', 'cleanup');
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

  /** undefined: there is no request of this id. */
  private async update(tx: EntityManager, sent: Request, caller: Caller): Promise<StoredRequest | undefined> {
    const locked = await this.actions.lock(tx, sent.id);
    if (!locked) return undefined;
    const { stored, facts, now } = locked;
    throwIf(refuseUpdate(facts));
    await this.disabled.refuse('UPDATE_REQUEST', tx);
    if (instancesOf(sent) !== instancesOf(stored.request)) await this.checks.capacity(tx, sent);
    const next = await this.checks.valid(tx, sent, stored);
    const note = { eventType: 'UPDATED', now, user: caller.email, cleanupUser: caller.id } as const;
    return this.changes.apply(tx, stored, next, note);
  }

  /** undefined: a request of this id exists after all. */
  private async create(tx: EntityManager, sent: Request, caller: Caller): Promise<StoredRequest | undefined> {
    const [waiting] = await this.cleanups.find(tx, sent.id);
    if (waiting) {
      const message = `Request '${sent.id}' is being cleaned (${waiting.cleanupType}); try again later`;
      throw new SchedulerError('REQUEST_BEING_CLEANED', message);
    }
    await this.disabled.refuse('CREATE_REQUEST', tx);
    await this.checks.capacity(tx, sent);
    const request = await this.checks.valid(tx, sent, undefined);
    const now = this.clock.now();
    const stored: StoredRequest = { request, state: 'ACTIVE', version: 1, changedAt: now, bouncing: false };
    if (!(await this.requests.insert(tx, stored))) return undefined;
    await this.history.record(tx, { createdAt: now, eventType: 'CREATED', user: caller.email, request });
    return stored;
  }

  private async parent(tx: EntityManager, stored: StoredRequest): Promise<RequestParent> {
    return (await this.parents.around(tx, [stored], { full: true }))[0]!;
  }
}
