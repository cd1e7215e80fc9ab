import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { BounceRequest, RequestParent } from '../../../core/model/request.js';
import { refuseBounce, refuseSecondBounce } from '../../../core/requests/action-rules.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { PriorityFreezeRepository } from '../../priority/priority-freeze.repository.js';
import { ShellCommandRules } from '../../tasks/shell-commands/before-kills.service.js';
import { ExpiringActionRepository } from '../expiring/expiring-action.repository.js';
import { deployInUse, RequestActions, throwIf } from '../request-actions.service.js';
import { RequestChecks } from '../request-checks.service.js';
import { RequestCleanupRepository } from '../request-cleanup.repository.js';
import { RequestHistoryRepository } from '../request-history.repository.js';
import { RequestParents } from '../request-parents.service.js';
import { RequestRepository, type StoredRequest } from '../request.repository.js';

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
    private readonly requests: RequestRepository,
    private readonly cleanups: RequestCleanupRepository,
    private readonly expiring: ExpiringActionRepository,
    private readonly history: RequestHistoryRepository,
    private readonly parents: RequestParents,
    private readonly freezes: PriorityFreezeRepository,
    private readonly commands: ShellCommandRules,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Answers the state as it was before. */
  bounce(id: string, request: BounceRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['cleanup', 'expiring'], async (tx, { stored, facts, now }) => {
      throwIf(refuseBounce(facts));
      await this.checks.bounceCapacity(tx, stored.request, request.incremental ?? false);
      await this.freezes.refuse(tx, stored.request);
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
    const ordered = await this.cleanups.create(tx, {
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
    await this.requests.save(tx, { ...stored, bouncing: true, changedAt: now });
    const { message } = start;
    await this.history.record(tx, { createdAt: now, eventType: 'BOUNCED', user, request: stored.request, message });
    const durationMillis = bounce.durationMillis ?? this.settings.defaultBounceExpirationMinutes * 60_000;
    await this.expiring.save(tx, {
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
