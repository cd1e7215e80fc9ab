import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LiveEventRepository } from './live-event.repository.js';

const everyMs = 30_000;
const minuteMillis = 60_000;

/** Forgets the events that are too old, or beyond the most that are kept. */
@Injectable()
export class EventRetentionPoller {
  constructor(
    private readonly db: Database,
    private readonly events: LiveEventRepository,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'events', everyMs, pass: (now) => this.runOnce(now) });
  }

  /** One pass, in short transactions. */
  async runOnce(now: number): Promise<void> {
    const { keepMinutes, maxKept } = this.settings.events;
    const since = new Date(now - keepMinutes * minuteMillis);
    let gone: number;
    do {
      gone = await this.db.leaderTransaction((tx) => this.events.forget(tx, since, maxKept));
    } while (gone > 0);
  }
}
