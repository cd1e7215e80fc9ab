import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { PriorityRequest, RequestParent } from '../../../core/model/request.js';
import { refuseUpdate } from '../../../core/requests/action-rules.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Caller } from '../../../platform/http/caller.js';
import { ExpiringActionRepository } from '../../../platform/actions/expiring-action.repository.js';
import { RequestActions, throwIf, type LockedRequest } from '../request-actions.service.js';
import { RequestChanges, type RequestChangeNote } from '../request-changes.service.js';
import { RequestChecks } from '../request-checks.service.js';
import { RequestParents } from '../request-parents.service.js';

/** Changes how important the tasks of a request are when not all can run. */
@Injectable()
export class Priorities {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly expiring: ExpiringActionRepository,
    private readonly parents: RequestParents,
  ) {}

  setPriority(id: string, asked: PriorityRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['scheduler', 'expiring'], async (tx, locked) => {
      const { now, stored } = locked;
      const { priority, message, durationMillis, actionId = randomUUID() } = asked;
      const note = { eventType: 'UPDATED', now, user: caller.email, cleanupUser: caller.id, message } as const;
      await this.apply(tx, locked, priority, note);
      // Without a duration the level stays, also one that an earlier change would have taken back.
      if (durationMillis === undefined) await this.expiring.remove(tx, 'PRIORITY', id);
      else {
        await this.expiring.save(tx, {
          kind: 'PRIORITY',
          targetId: id,
          user: caller.email,
          startMillis: now,
          durationMillis,
          actionId,
          document: asked,
          revert: { revertToPriority: stored.request.taskPriorityLevel },
        });
      }
      return (await this.parents.one(tx, id))!;
    });
  }

  /** Also the way back when a priority lapses. */
  async apply(
    tx: Transaction,
    { stored, facts }: LockedRequest,
    taskPriorityLevel: number | undefined,
    note: RequestChangeNote,
  ): Promise<void> {
    throwIf(refuseUpdate(facts));
    const next = await this.checks.valid(tx, { ...stored.request, taskPriorityLevel }, stored);
    await this.changes.apply(tx, stored, next, note);
  }
}
