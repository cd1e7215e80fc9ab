import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { withinBounds } from '../../../core/autoscale/index.js';
import { instancesOf, type Request } from '../../../core/model/request.js';
import { refuseBounce } from '../../../core/requests/action-rules.js';
import { hasLapsed, lapseMessage } from '../../../core/requests/changes.js';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { HealthcheckSkips } from '../actions/healthcheck-skips.service.js';
import { Pauses } from '../actions/pauses.service.js';
import { Priorities } from '../actions/priorities.service.js';
import { Scaling } from '../actions/scaling.service.js';
import { deployInUse, RequestActions, type LockedRequest } from '../request-actions.service.js';
import { BounceReverts } from './bounce-reverts.service.js';
import type { ExpiringRequestAction, ExpiringScaleAction } from '../../../platform/actions/expiring-action.entity.js';
import { ExpiringActionRepository } from '../../../platform/actions/expiring-action.repository.js';
import { tellFailure } from '../../../platform/tell-failure.js';

/** Undoes what has lapsed. Each action is undone, or found impossible to undo, once; then its record is removed. */
@Injectable()
export class ExpiringReverts {
  private readonly log = new Logger(ExpiringReverts.name);

  constructor(
    private readonly database: Database,
    private readonly actions: RequestActions,
    private readonly expiring: ExpiringActionRepository,
    private readonly pauses: Pauses,
    private readonly scaling: Scaling,
    private readonly priorities: Priorities,
    private readonly skips: HealthcheckSkips,
    private readonly bounces: BounceReverts,
    private readonly wake: Wake,
  ) {}

  /** One transaction; a revert that is refused is logged and leaves nothing but the removal of its record. */
  async revert(due: ExpiringRequestAction, now: number): Promise<void> {
    try {
      await this.database.leaderTransaction((tx) => this.revertIn(tx, due, now));
    } catch (cause) {
      if (!(cause instanceof SchedulerError)) throw cause;
      this.log.warn(`${due.kind} of request '${due.targetId}' has expired, and cannot be reverted: ${cause.message}`);
      await this.database.leaderTransaction((tx) => this.expiring.removeExactly(tx, due));
    }
    this.wake.signalOf([due.targetId], 'scheduler', 'cleanup', 'mails');
  }

  private async revertIn(tx: Transaction, due: ExpiringRequestAction, now: number): Promise<void> {
    const locked = await this.actions.lock(tx, due.targetId);
    const [action] = (await this.expiring.ofRequests(tx, [due.targetId])).filter(({ kind }) => kind === due.kind);
    // It may have been renewed or removed since it was found due.
    if (!action || !hasLapsed(action.startMillis, action.durationMillis, now)) return;
    await this.expiring.removeExactly(tx, action);
    if (locked) await this.undo(tx, action, { ...locked, now });
  }

  private async undo(tx: Transaction, action: ExpiringRequestAction, locked: LockedRequest): Promise<void> {
    const { stored, now } = locked;
    const message = lapseMessage(action.kind, action.durationMillis, action.document.message);
    switch (action.kind) {
      case 'BOUNCE':
        return this.bounces.undo(tx, action, locked, message);
      case 'PAUSE':
        if (stored.state !== 'PAUSED') return;
        return this.pauses.endPause(tx, stored, { now, user: action.user ?? 'unknown', options: { message } });
      case 'SCALE':
        return this.undoScale(tx, action, locked, message);
      case 'PRIORITY': {
        const note = { eventType: 'UPDATED', now, user: action.user, cleanupUser: action.user, message } as const;
        return this.priorities.apply(tx, locked, action.revert.revertToPriority, note);
      }
      case 'SKIP_HEALTHCHECKS': {
        const note = { eventType: 'UPDATED', now, user: action.user, cleanupUser: action.user, message } as const;
        return this.skips.apply(tx, locked, action.revert.revertToSkipHealthchecks, note);
      }
    }
  }

  private async undoScale(
    tx: Transaction,
    action: ExpiringScaleAction,
    locked: LockedRequest,
    message: string,
  ): Promise<void> {
    const { request } = locked.stored;
    const { autoscale } = request;
    const former = action.revert.revertToInstances;
    // The bounds may have changed meanwhile.
    const instances = autoscale ? withinBounds(autoscale, instancesOf({ instances: former })) : former;
    const next: Request = { ...request, instances };
    // Of a request that cannot be bounced now, such as a paused one, the number is restored all the same.
    const mayBounce = deployInUse(locked.stored) !== undefined && refuseBounce(locked.facts) === undefined;
    const bounce = mayBounce && (action.revert.bounce ?? request.bounceAfterScale);
    await this.scaling.apply(tx, locked, next, bounce ? { incremental: true } : undefined, {
      eventType: 'SCALE_REVERTED',
      now: locked.now,
      user: action.user,
      cleanupUser: action.user,
      message,
      actionId: action.actionId,
    });
    await this.scaling.tell(tx, request, next, { user: action.user, at: locked.now, message, lapsed: true });
  }
}

/** Ends what has lapsed, at its exact time. */
@Injectable()
export class ExpiringPoller implements OnModuleInit {
  private readonly log = new Logger(ExpiringPoller.name);

  constructor(
    private readonly pollers: Pollers,
    private readonly database: Database,
    private readonly expiring: ExpiringActionRepository,
    private readonly reverts: ExpiringReverts,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'expiring-requests',
      runsWhile: 'RUN_EXPIRING_ACTION_POLLER',
      everyMs: this.settings.checkExpiringUserActionEveryMillis,
      pass: (now) => this.runOnce(now),
      wakeOn: ['expiring'],
    });
  }

  /** One pass. Answers when the next action lapses. */
  async runOnce(now: number): Promise<number | undefined> {
    const all = await this.expiring.all(this.database.pool);
    const isDue = (action: ExpiringRequestAction): boolean => hasLapsed(action.startMillis, action.durationMillis, now);
    for (const due of all.filter(isDue)) {
      await this.reverts.revert(due, now).catch((cause: unknown) => {
        if (concernsAll(cause)) throw cause;
        tellFailure(this.log, `${due.kind} of request '${due.targetId}' could not be ended; it is tried again`, cause);
      });
    }
    const ends = all
      .filter((action) => !isDue(action))
      .map(({ startMillis, durationMillis }) => startMillis + durationMillis + 1);
    return ends.length > 0 ? ends.reduce((a, b) => Math.min(a, b)) : undefined;
  }
}
