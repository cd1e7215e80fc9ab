import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { instancesOf, type Request, type RequestParent, type ScaleRequest } from '../../../core/model/request.js';
import { refuseBounceAfterScale, refuseUpdate } from '../../../core/requests/action-rules.js';
import { scaleMessage } from '../../../core/requests/changes.js';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { Rows } from '../../../rows.js';
import { refuseChanged } from '../check-index.js';
import { deployInUse, RequestActions, throwIf, type LockedRequest } from '../request-actions.service.js';
import { RequestChanges, type RequestChangeNote } from '../request-changes.service.js';
import { RequestChecks } from '../request-checks.service.js';
import { RequestParents } from '../request-parents.service.js';
import type { StoredRequest } from '../request.repository.js';
import { Bounces } from './bounces.service.js';

/** A scale that may be made. */
export interface CheckedScale {
  next: Request;
  from: number;
  to: number;
  bounce?: { incremental: boolean };
}

/** Details of a scaling for history and mails. lapsed: it is the end of a former one, whose time is over. */
interface ScaleNote {
  user?: string;
  at: number;
  message?: string;
  durationMillis?: number;
  lapsed?: boolean;
}

/** Changes the number of instances of a request, for good or for a while. */
@Injectable()
export class Scaling {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly changes: RequestChanges,
    private readonly bounces: Bounces,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly disabled: DisabledActions,
  ) {}

  scale(
    id: string,
    scale: ScaleRequest,
    acknowledged: boolean,
    caller: Caller,
    checkIndex?: string,
  ): Promise<RequestParent> {
    return this.actions.perform(id, ['scheduler', 'cleanup', 'expiring', 'mails'], async (tx, locked) => {
      const { stored, now } = locked;
      refuseChanged(stored, checkIndex);
      const { next, from, to, bounce } = await this.check(tx, locked, scale, acknowledged);
      const { skipHealthchecks, actionId = randomUUID() } = scale;
      const message = scaleMessage(from, to, scale.message);
      await this.apply(tx, locked, next, bounce, {
        isLapsing: scale.durationMillis !== undefined,
        eventType: 'SCALED',
        now,
        user: caller.email,
        cleanupUser: caller.id,
        message,
        actionId,
        skipHealthchecks,
      });
      await this.saveExpiry(tx, stored, scale, { user: caller.email, now, actionId });
      if (!scale.skipEmailNotification)
        await this.tell(tx, stored.request, next, { ...scale, user: caller.email, at: now });
      return (await this.parents.one(tx, id))!;
    });
  }

  /** The scale that autoscaling has decided for a request whose row is locked in `tx`. Its owners get no mail of it. */
  async autoscale(tx: Transaction, locked: LockedRequest, instances: number, reason: string): Promise<void> {
    const { next, from, to, bounce } = await this.check(tx, locked, { instances }, true);
    const message = scaleMessage(from, to, reason);
    await this.apply(tx, locked, next, bounce, {
      eventType: 'SCALED',
      now: locked.now,
      message,
      actionId: randomUUID(),
    });
  }

  /** Everything that may be wrong with a scale, without making it. */
  async plan(tx: Transaction, seen: LockedRequest, scale: ScaleRequest, acknowledged: boolean): Promise<CheckedScale> {
    const checked = await this.check(tx, seen, scale, acknowledged);
    return { ...checked, next: await this.checkUpdate(tx, seen, checked.next, scale.durationMillis !== undefined) };
  }

  private async check(
    tx: Transaction,
    { stored, facts }: LockedRequest,
    scale: ScaleRequest,
    acknowledged: boolean,
  ): Promise<CheckedScale> {
    const bounce = scale.bounce ?? stored.request.bounceAfterScale ?? false;
    if (bounce) await this.disabled.refuse('BOUNCE_REQUEST', tx);
    const next: Request = { ...stored.request, instances: scale.instances };
    const from = instancesOf(stored.request);
    const to = instancesOf(next);
    this.checks.scalable(stored.request);
    await this.checks.capacity(tx, next);
    this.checks.scaleDown(next, { from, to, acknowledged });
    if (from === to) throw unchanged(stored.request.id, to);
    const incremental = scale.incremental ?? true;
    if (bounce) {
      throwIf(refuseBounceAfterScale(facts));
      await this.checks.bounceCapacity(tx, next, incremental);
      await this.rows.priorityFreezes.refuse(tx, next);
    }
    return { next, from, to, bounce: bounce ? { incremental } : undefined };
  }

  private checkUpdate(
    tx: Transaction,
    { stored, facts }: LockedRequest,
    next: Request,
    isLapsing?: boolean,
  ): Promise<Request> {
    throwIf(refuseUpdate(facts));
    return this.checks.valid(tx, next, stored, { isLapsing });
  }

  /** Also the way back when a scale lapses. The checks of any update are made here. */
  async apply(
    tx: Transaction,
    locked: LockedRequest,
    next: Request,
    bounce: { incremental: boolean } | undefined,
    { isLapsing, ...note }: RequestChangeNote & { isLapsing?: boolean },
  ): Promise<void> {
    const { stored } = locked;
    const checked = await this.checkUpdate(tx, locked, next, isLapsing);
    const bounced = bounce !== undefined && deployInUse(stored) !== undefined;
    const saved = await this.changes.apply(tx, stored, checked, { ...note, quiet: bounced });
    if (!bounced) return;
    const { now, skipHealthchecks, actionId } = note;
    const message = `Bounced because of: ${note.message}`;
    const begun = await this.bounces.begin(tx, saved, {
      request: { incremental: bounce.incremental, skipHealthchecks, actionId, message },
      now,
      message,
    });
    if (!begun) await this.changes.queueUpdate(tx, saved, note);
  }

  /** Owners hear of the numbers themselves; the history has them in its message. */
  async tell(
    tx: Transaction,
    former: Request,
    next: Request,
    { user, at, message, durationMillis, lapsed }: ScaleNote,
  ): Promise<void> {
    const until = durationMillis === undefined ? undefined : at + durationMillis;
    const facts = { kind: 'scaled', from: instancesOf(former), to: instancesOf(next), message, until, lapsed } as const;
    await this.rows.mailOutbox.queue(tx, [{ type: 'REQUEST_SCALED', request: next, user, at, facts }]);
  }

  /** A scale without a duration makes the number stay, also one that an earlier scale would have taken back. */
  private async saveExpiry(
    tx: Transaction,
    { request }: StoredRequest,
    scale: ScaleRequest,
    by: { user?: string; now: number; actionId: string },
  ): Promise<void> {
    const { durationMillis, bounce } = scale;
    if (durationMillis === undefined) {
      await this.rows.expiringActions.remove(tx, 'SCALE', request.id);
      return;
    }
    await this.rows.expiringActions.save(tx, {
      kind: 'SCALE',
      targetId: request.id,
      user: by.user,
      startMillis: by.now,
      durationMillis,
      actionId: by.actionId,
      document: scale,
      revert: { revertToInstances: request.instances, bounce },
    });
  }
}

function unchanged(id: string, instances: number): SchedulerError {
  const message = `instances: request '${id}' has ${instances} already`;
  return SchedulerError.invalid('INVALID_REQUEST', [{ field: 'instances', rule: 'changed', message }]);
}
