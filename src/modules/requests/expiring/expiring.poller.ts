import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { hasLapsed } from '../../../core/requests/expiring.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import type { Poller } from '../../../platform/poller/poller.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { ExpiringRequestAction } from './expiring-action.js';
import { ExpiringActions } from './expiring-actions.service.js';
import { ExpiringReverts } from './expiring-reverts.service.js';

/** A timer of Node holds no more; a later action gets its timer after one of the regular passes. */
const longestTimerMillis = 2 ** 31 - 1;

/** Ends what has lapsed. A timer set to the next end makes it exact; the regular pass covers what the timer missed. */
@Injectable()
export class ExpiringPoller implements OnModuleInit, OnModuleDestroy {
  private readonly log = new Logger(ExpiringPoller.name);
  private poller: Poller | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pollers: Pollers,
    private readonly database: Database,
    private readonly expiring: ExpiringActions,
    private readonly reverts: ExpiringReverts,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.poller = this.pollers.register({
      name: 'expiring actions of requests',
      everyMs: this.settings.checkExpiringUserActionEveryMillis,
      pass: (now) => this.runOnce(now),
      wakeOn: ['expiring'],
    });
  }

  onModuleDestroy(): void {
    clearTimeout(this.timer);
    this.poller = undefined;
  }

  /** One pass. */
  async runOnce(now: number): Promise<void> {
    const all = await this.expiring.all(this.database.manager);
    const isDue = (action: ExpiringRequestAction): boolean => hasLapsed(action.startMillis, action.durationMillis, now);
    for (const due of all.filter(isDue)) {
      await this.reverts.revert(due, now).catch((cause: unknown) => {
        this.log.error(`${due.kind} of request '${due.targetId}' could not be ended; it is tried again`, cause);
      });
    }
    this.setTimer(all.filter((action) => !isDue(action)));
  }

  private setTimer(waiting: readonly ExpiringRequestAction[]): void {
    clearTimeout(this.timer);
    if (waiting.length === 0 || !this.poller) return;
    const ends = waiting.map(({ startMillis, durationMillis }) => startMillis + durationMillis + 1);
    const millis = Math.max(0, ends.reduce((a, b) => Math.min(a, b)) - this.clock.now());
    this.timer = setTimeout(() => this.poller?.wake(), Math.min(millis, longestTimerMillis));
    this.timer.unref();
  }
}
