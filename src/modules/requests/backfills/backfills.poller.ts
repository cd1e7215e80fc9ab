import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import { Backfills } from './backfills.service.js';

const everyMs = 10_000;

/**
 * Goes on with backfills after a pause, or where a run was dropped before it began. Otherwise the end of each run gives the next
 * time its turn, in the transaction that stores that end.
 */
@Injectable()
export class BackfillsPoller implements OnModuleInit {
  private readonly log = new Logger(BackfillsPoller.name);

  constructor(
    private readonly pollers: Pollers,
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly backfills: Backfills,
    private readonly wake: Wake,
  ) {}

  onModuleInit(): void {
    this.pollers.register({ name: 'backfills', everyMs, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    for (const requestId of await this.rows.runBackfills.openRequestIds(this.database.pool)) {
      try {
        if ((await this.goOn(requestId, now)) > 0) this.wake.signalOf([requestId], 'scheduler');
      } catch (cause) {
        tellFailure(this.log, `The backfills of request '${requestId}' are stuck`, cause);
      }
    }
  }

  private goOn(requestId: string, now: number): Promise<number> {
    return this.database.leaderTransaction(async (tx) => {
      const stored = await this.rows.requests.lock(tx, requestId);
      if (!stored) {
        await this.rows.runBackfills.removeAll(tx, requestId);
        return 0;
      }
      return this.backfills.goOn(tx, stored, now);
    });
  }
}
