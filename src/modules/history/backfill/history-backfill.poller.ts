import { Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/clock.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { HistoryBackfill } from './history-backfill.service.js';

/** A new leader goes on, at the latest after this time, with what the former one had begun. */
const everyMs = 10_000;
/** A pass ends after this time and the next one begins at once, so that whoever stops the pollers need not wait. */
const passMillis = 1_000;

/** Works through a backfill that was asked for, on the leader: one run at a time, whatever instance was asked. */
@Injectable()
export class HistoryBackfillPoller {
  constructor(
    private readonly backfill: HistoryBackfill,
    private readonly clock: Clock,
    pollers: Pollers,
  ) {
    pollers.register({
      name: 'history-backfill',
      everyMs,
      wakeOn: ['history-backfill'],
      pass: (now) => this.pass(now),
    });
  }

  private async pass(now: number): Promise<number | undefined> {
    while (await this.backfill.step()) {
      if (this.clock.now() >= now + passMillis) return this.clock.now();
    }
    return undefined;
  }
}
