import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ExitCooldownRequest, PauseRequest, RequestParent, UnpauseRequest } from '../../../core/model/request.js';
import type { PendingType, RequestEventType } from '../../../core/model/enums.js';
import { refuseExitCooldown, refusePause, refuseUnpause } from '../../../core/requests/action-rules.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { ShellCommandRules } from '../../tasks/shell-commands/before-kills.service.js';
import { deployInUse, RequestActions, throwIf } from '../request-actions.service.js';
import { RequestParents } from '../request-parents.service.js';
import type { StoredRequest } from '../request.repository.js';
import { storePause } from './store-pause.js';

/** The way in which a request became ACTIVE again. */
interface Awakening {
  eventType: Extract<RequestEventType, 'UNPAUSED' | 'EXITED_COOLDOWN'>;
  pendingType: Extract<PendingType, 'UNPAUSED' | 'IMMEDIATE'>;
  now: number;
  user?: string;
  options: UnpauseRequest;
  /**
   * For a schedule: its next run is the one of this time, at once if it has passed. Absent: the next one by the
   * schedule from now on.
   */
  plannedFor?: number;
  /** Its owners are not told. */
  quiet?: boolean;
}

/** Pause, unpause and the early end of a cooldown: whether a request gets new tasks. */
@Injectable()
export class Pauses {
  constructor(
    private readonly actions: RequestActions,
    private readonly rows: Rows,
    private readonly parents: RequestParents,
    private readonly commands: ShellCommandRules,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  pause(id: string, options: PauseRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['cleanup', 'deploys', 'expiring', 'mails'], async (tx, { stored, facts, now }) => {
      throwIf(refusePause(facts));
      this.commands.refuseBeforeKill(options.runShellCommandBeforeKill);
      const { email: user } = caller;
      await storePause(this.rows, tx, stored, { ...options, user, now });
      await this.saveExpiry(tx, id, options, user, now);
      await this.tellPaused(tx, stored, options, user, now);
      return this.parent(tx, id);
    });
  }

  unpause(id: string, options: UnpauseRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['scheduler', 'mails'], async (tx, { stored, facts, now }) => {
      throwIf(refuseUnpause(facts));
      await this.endPause(tx, stored, { now, user: caller.email, options });
      return this.parent(tx, id);
    });
  }

  /** Ends the pause of a request that is paused and locked in `tx`; wake 'scheduler' and 'mails' after the commit. */
  async endPause(
    tx: Transaction,
    stored: StoredRequest,
    by: Pick<Awakening, 'now' | 'user' | 'options' | 'plannedFor' | 'quiet'>,
  ): Promise<void> {
    await this.rows.expiringActions.remove(tx, 'PAUSE', stored.request.id);
    await this.awaken(tx, stored, { ...by, eventType: 'UNPAUSED', pendingType: 'UNPAUSED' });
    if (by.quiet) return;
    const { now: at, user, options } = by;
    const facts = { kind: 'unpaused', message: options.message } as const;
    await this.rows.mailOutbox.queue(tx, [{ type: 'REQUEST_UNPAUSED', request: stored.request, user, at, facts }]);
  }

  /** Answers the state as it was before. */
  exitCooldown(id: string, options: ExitCooldownRequest, caller: Caller): Promise<RequestParent> {
    return this.actions.perform(id, ['scheduler'], async (tx, { stored, facts, now }) => {
      throwIf(refuseExitCooldown(facts));
      const by = { eventType: 'EXITED_COOLDOWN', pendingType: 'IMMEDIATE', now, user: caller.id, options } as const;
      await this.awaken(tx, stored, by);
      return { ...(await this.parent(tx, id)), state: stored.state };
    });
  }

  private async awaken(tx: Transaction, stored: StoredRequest, awakening: Awakening): Promise<void> {
    const { eventType, pendingType, now, user, options, plannedFor } = awakening;
    const { request } = stored;
    await this.rows.requests.save(tx, { ...stored, state: 'ACTIVE', changedAt: now });
    await this.rows.requestHistory.record(tx, { createdAt: now, eventType, user, request, message: options.message });
    const deployId = deployInUse(stored);
    if (!deployId || request.requestType === 'ON_DEMAND') return;
    const { message, actionId, skipHealthchecks } = options;
    await this.rows.pendingRequests.enqueue(tx, {
      requestId: request.id,
      deployId,
      timestamp: now,
      user,
      pendingType,
      runAt: plannedFor,
      skipHealthchecks,
      message,
      actionId,
    });
  }

  private tellPaused(
    tx: Transaction,
    { request }: StoredRequest,
    { killTasks = this.settings.defaultValueForKillTasksOfPausedRequests, message, durationMillis }: PauseRequest,
    user: string | undefined,
    at: number,
  ): Promise<void> {
    const until = durationMillis === undefined ? undefined : at + durationMillis;
    const facts = { kind: 'paused', message, killTasks, until } as const;
    return this.rows.mailOutbox.queue(tx, [{ type: 'REQUEST_PAUSED', request, user, at, facts }]);
  }

  private async saveExpiry(
    tx: Transaction,
    id: string,
    options: PauseRequest,
    user: string | undefined,
    startMillis: number,
  ): Promise<void> {
    const { durationMillis } = options;
    if (durationMillis === undefined) return;
    const actionId = randomUUID();
    const document = options;
    await this.rows.expiringActions.save(tx, {
      kind: 'PAUSE',
      targetId: id,
      user,
      startMillis,
      durationMillis,
      actionId,
      document,
      revert: {},
    });
  }

  private async parent(tx: Transaction, id: string): Promise<RequestParent> {
    return (await this.parents.one(tx, id))!;
  }
}
