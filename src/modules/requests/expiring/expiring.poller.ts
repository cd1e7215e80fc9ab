import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { hasLapsed } from '../../../core/requests/expiring.js';
import { Database } from '../../../platform/database/database.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { ExpiringRequestAction } from './expiring-action.js';
import { ExpiringActions } from './expiring-actions.service.js';
import { ExpiringReverts } from './expiring-reverts.service.js';

/** Ends what has lapsed, at its exact time. */
@Injectable()
export class ExpiringPoller implements OnModuleInit {
  private readonly log = new Logger(ExpiringPoller.name);

  constructor(
    private readonly pollers: Pollers,
    private readonly database: Database,
    private readonly expiring: ExpiringActions,
    private readonly reverts: ExpiringReverts,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'expiring actions of requests',
      runsWhile: 'RUN_EXPIRING_ACTION_POLLER',
      everyMs: this.settings.checkExpiringUserActionEveryMillis,
      pass: (now) => this.runOnce(now),
      wakeOn: ['expiring'],
    });
  }

  /** One pass. Answers when the next action lapses. */
  async runOnce(now: number): Promise<number | undefined> {
    const all = await this.expiring.all(this.database.manager);
    const isDue = (action: ExpiringRequestAction): boolean => hasLapsed(action.startMillis, action.durationMillis, now);
    for (const due of all.filter(isDue)) {
      await this.reverts.revert(due, now).catch((cause: unknown) => {
        this.log.error(`${due.kind} of request '${due.targetId}' could not be ended; it is tried again`, cause);
      });
    }
    const ends = all
      .filter((action) => !isDue(action))
      .map(({ startMillis, durationMillis }) => startMillis + durationMillis + 1);
    return ends.length > 0 ? ends.reduce((a, b) => Math.min(a, b)) : undefined;
  }
}
