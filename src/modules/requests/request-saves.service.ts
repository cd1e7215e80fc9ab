import { Injectable } from '@nestjs/common';
import { withPresentInstances } from '../../core/autoscale/index.js';
import { instancesOf, type Request, type RequestHistory } from '../../core/model/request.js';
import { diffFields, type FieldChange } from '../../core/plan/index.js';
import { refuseUpdate } from '../../core/requests/action-rules.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { User } from '../../core/authorization/index.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestActions, throwIf } from './request-actions.service.js';
import { RequestChanges } from './request-changes.service.js';
import { RequestChecks } from './request-checks.service.js';
import { RequestCreationRepository, type Surroundings } from './request-creation.repository.js';
import { RequestRepository, type StoredRequest } from './request.repository.js';

export interface SavedRequest {
  stored: StoredRequest;
  outcome: 'CREATED' | 'CHANGED' | 'UNCHANGED';
  /** By which it differs from what was stored; looked for only where what is the same is left alone. */
  changes: readonly FieldChange[];
}

/** Creates a request, or updates the one that has its id, in the transaction of a caller. */
@Injectable()
export class RequestSaves {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly requests: RequestRepository,
    private readonly creations: RequestCreationRepository,
    private readonly disabled: DisabledActions,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /** The caller says so after the commit (`saved`). `unlessSame`: what is so already is left alone. */
  async save(tx: Transaction, given: Request, caller: User, { unlessSame = false } = {}): Promise<SavedRequest> {
    for (;;) {
      const [stored, around] = await Promise.all([this.requests.lock(tx, given.id), this.creations.look(tx, given.id)]);
      const sent = withPresentInstances(given, stored?.request);
      if (stored) {
        const isLeaving = stored.state === 'DELETING' || around.cleanups.includes('DELETING');
        const checked = unlessSame ? await this.checks.valid(tx, sent, stored, { reader: caller }) : undefined;
        const changes = checked ? diffFields(stored.request, checked, 'request') : [];
        if (unlessSame && changes.length === 0 && !isLeaving) return { stored, outcome: 'UNCHANGED', changes };
        return {
          stored: await this.update(tx, stored, around, { sent, checked }, caller),
          outcome: 'CHANGED',
          changes,
        };
      }
      const created = await this.create(tx, around, sent, caller);
      if (created) return { stored: created, outcome: 'CREATED', changes: [] };
      // Another caller created it between the two looks: look again.
    }
  }

  /** After the commit. */
  saved({ stored, outcome }: SavedRequest): void {
    // A new request has no deploy, so there is nothing to be done for it yet.
    if (outcome === 'CHANGED') this.wake.signalOf([stored.request.id], 'scheduler', 'cleanup');
  }

  private async update(
    tx: Transaction,
    stored: StoredRequest,
    { cleanups, switchedOff }: Surroundings,
    { sent, checked }: { sent: Request; checked: Request | undefined },
    caller: User,
  ): Promise<StoredRequest> {
    const { facts, now } = await this.actions.around(tx, stored, cleanups);
    throwIf(refuseUpdate(facts));
    this.disabled.refuseIn(switchedOff, 'UPDATE_REQUEST');
    if (instancesOf(sent) !== instancesOf(stored.request)) await this.checks.capacity(tx, sent);
    const next = checked ?? (await this.checks.valid(tx, sent, stored, { reader: caller }));
    await this.checks.room(tx, next, stored.request);
    const note = { eventType: 'UPDATED', now, user: caller.email, cleanupUser: caller.id } as const;
    return this.changes.apply(tx, stored, next, note);
  }

  /** undefined: a request of this id exists after all. */
  private async create(
    tx: Transaction,
    { cleanups: [waiting], switchedOff, isHeard, lastEventAt = 0 }: Surroundings,
    sent: Request,
    caller: User,
  ): Promise<StoredRequest | undefined> {
    if (waiting) {
      const message = `Request '${sent.id}' is being cleaned (${waiting}); try again later`;
      throw new SchedulerError('REQUEST_BEING_CLEANED', message);
    }
    this.disabled.refuseIn(switchedOff, 'CREATE_REQUEST');
    await this.checks.capacity(tx, sent);
    const request = await this.checks.valid(tx, sent, undefined, { reader: caller });
    await this.checks.room(tx, request);
    const now = this.clock.now();
    const stored: StoredRequest = { request, state: 'ACTIVE', version: 1, changedAt: now, bouncing: false };
    // What happens to requests of one id is read as it happened, whatever the clock said.
    const createdAt = Math.max(now, lastEventAt + 1);
    const event: RequestHistory = { createdAt, eventType: 'CREATED', user: caller.email, request };
    return (await this.creations.create(tx, stored, event, isHeard)) ? stored : undefined;
  }
}
