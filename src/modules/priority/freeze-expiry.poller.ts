import { Inject, Injectable, Logger } from '@nestjs/common';
import { hasLapsed } from '../../core/requests/expiring.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { PriorityFreezes, type StoredFreeze } from './priority-freezes.service.js';

/** Ends a priority freeze whose time is up, at its exact time. */
@Injectable()
export class FreezeExpiryPoller {
  private readonly log = new Logger(FreezeExpiryPoller.name);

  constructor(
    private readonly db: Database,
    private readonly freezes: PriorityFreezes,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) settings: Settings,
  ) {
    pollers.register({
      name: 'expiring priority freeze',
      everyMs: settings.checkExpiringUserActionEveryMillis,
      wakeOn: ['expiring'],
      runsWhile: 'RUN_EXPIRING_ACTION_POLLER',
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Answers when the freeze lapses. */
  async runOnce(now: number): Promise<number | undefined> {
    const freeze = await this.freezes.find(this.db.leaderSource.manager);
    if (freeze?.priorityFreeze.durationMillis === undefined) return undefined;
    if (!isOver(freeze, now)) return freeze.timestamp + freeze.priorityFreeze.durationMillis + 1;
    const ended = await this.db.leaderTransaction(async (tx) => {
      // It may have been replaced meanwhile.
      const found = await this.freezes.find(tx, { lock: true });
      return found !== undefined && isOver(found, now) && this.freezes.remove(tx);
    });
    if (ended) {
      this.log.log('The priority freeze has lapsed');
      this.wake.signal('scheduler');
    }
    return undefined;
  }
}

const isOver = ({ priorityFreeze: { durationMillis }, timestamp }: StoredFreeze, now: number): boolean =>
  durationMillis !== undefined && hasLapsed(timestamp, durationMillis, now);
