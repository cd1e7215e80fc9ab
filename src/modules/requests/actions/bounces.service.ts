import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { BounceRequest, RequestParent } from '../../../core/model/request.js';
import { refuseBounce, refuseSecondBounce } from '../../../core/requests/action-rules.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { ShellCommandRules } from '../../tasks/shell-commands/before-kills.service.js';
import { deployInUse, RequestActions, throwIf } from '../request-actions.service.js';
import { RequestChecks } from '../request-checks.service.js';
import { RequestParents } from '../request-parents.service.js';
import type { StoredRequest } from '../request.repository.js';

/** A bounce about to begin. */
interface BounceStart {
  request: BounceRequest;
  now: number;
  user?: string;
  /** The text in the history. */
  message?: string;
}

/** Bounces: every task of the deploy in use is replaced by a new one. */
@Injectable()
export class Bounces {
  constructor(
    private readonly actions: RequestActions,
    private readonly checks: RequestChecks,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly commands: ShellCommandRules,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Answers the state as it was before. */
  bounce(id: string, request: BounceRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['cleanup', 'expiring'], async (tx, { stored, facts, now }) => {
      throwIf(refuseBounce(facts));
      await this.checks.bounceCapacity(tx, stored.request, request.incremental ?? false);
      await this.rows.priorityFreezes.refuse(tx, stored.request);
      this.commands.refuseBeforeKill(request.runShellCommandBeforeKill);
      throwIf(refuseSecondBounce(facts));
      await this.begin(tx, { ...stored, state: 'ACTIVE' }, { request, now, user: caller.id, message: request.message });
      const parent = await this.parents.one(tx, id);
      return { ...parent!, state: stored.state };
    });
  }

  /**
   * Writes everything that begins a bounce, for a request with a deploy in use; the cleaner does the rest. false: such a
   * bounce waits already and nothing was changed. Wake 'cleanup' and 'expiring' after the commit.
   */
  async begin(tx: Transaction, stored: StoredRequest, start: BounceStart): Promise<boolean> {
    const { request: bounce, now, user } = start;
    const requestId = stored.request.id;
    const deployId = deployInUse(stored)!;
    const actionId = bounce.actionId ?? randomUUID();
    const ordered = await this.rows.requestCleanups.create(tx, {
      user,
      cleanupType: bounce.incremental ? 'INCREMENTAL_BOUNCE' : 'BOUNCE',
      timestamp: now,
      requestId,
      deployId,
      skipHealthchecks: bounce.skipHealthchecks,
      message: bounce.message,
      actionId,
      runShellCommandBeforeKill: bounce.runShellCommandBeforeKill,
    });
    if (!ordered) return false;
    await this.rows.requests.save(tx, { ...stored, bouncing: true, changedAt: now });
    const { message } = start;
    await this.rows.requestHistory.record(tx, {
      createdAt: now,
      eventType: 'BOUNCED',
      user,
      request: stored.request,
      message,
    });
    const durationMillis = bounce.durationMillis ?? this.settings.defaultBounceExpirationMinutes * 60_000;
    await this.rows.expiringActions.save(tx, {
      kind: 'BOUNCE',
      targetId: requestId,
      user,
      startMillis: now,
      durationMillis,
      actionId,
      document: { ...bounce, durationMillis, actionId: bounce.actionId ?? randomUUID() },
      revert: { deployId },
    });
    return true;
  }
}
