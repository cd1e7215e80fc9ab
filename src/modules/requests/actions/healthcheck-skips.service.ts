import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { RequestParent, SkipHealthchecksRequest } from '../../../core/model/request.js';
import { refuseUpdate } from '../../../core/requests/action-rules.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Caller } from '../../../platform/http/caller.js';
import { ExpiringActionRepository } from '../../../platform/actions/expiring-action.repository.js';
import { RequestActions, throwIf, type LockedRequest } from '../request-actions.service.js';
import { RequestChanges, type RequestChangeNote } from '../request-changes.service.js';
import { RequestChecks } from '../request-checks.service.js';
import { RequestParents } from '../request-parents.service.js';

/** Turns health checks of a request off and on again. */
@Injectable()
export class HealthcheckSkips {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly expiring: ExpiringActionRepository,
    private readonly parents: RequestParents,
  ) {}

  setSkip(id: string, skip: SkipHealthchecksRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['scheduler', 'deploys', 'expiring'], async (tx, locked) => {
      const { now, stored } = locked;
      const { message, durationMillis, actionId = randomUUID() } = skip;
      const note = { eventType: 'UPDATED', now, user: caller.email, cleanupUser: caller.id, message } as const;
      await this.apply(tx, locked, skip.skipHealthchecks, note);
      // Without a duration an earlier one stays: it takes back what was before it.
      if (durationMillis !== undefined) {
        await this.expiring.save(tx, {
          kind: 'SKIP_HEALTHCHECKS',
          targetId: id,
          user: caller.email,
          startMillis: now,
          durationMillis,
          actionId,
          document: skip,
          revert: { revertToSkipHealthchecks: stored.request.skipHealthchecks },
        });
      }
      return (await this.parents.one(tx, id))!;
    });
  }

  /** Also the way back when a skip lapses. */
  async apply(
    tx: Transaction,
    { stored, facts }: LockedRequest,
    skipHealthchecks: boolean | undefined,
    note: RequestChangeNote,
  ): Promise<void> {
    throwIf(refuseUpdate(facts));
    const next = await this.checks.valid(tx, { ...stored.request, skipHealthchecks }, stored);
    await this.changes.apply(tx, stored, next, note);
  }
}
