import { Injectable } from '@nestjs/common';
import { isPassing } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { HeldUpdates, type HeldTaskUpdates } from './held-updates.service.js';
import { StatusUpdates } from './status-updates.service.js';

const checkEveryMillis = 5_000;

/** Tries again to store the updates that are held, one task at a time. */
@Injectable()
export class HeldUpdatesPoller {
  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly held: HeldUpdates,
    private readonly status: StatusUpdates,
  ) {
    pollers.register({ name: 'held-updates', everyMs: checkEveryMillis, pass: (now) => this.runOnce(now) });
  }

  /** Fails while updates are held, so that the service's health shows it. */
  async runOnce(now: number): Promise<void> {
    for (const task of await this.held.due(this.db.pool, now)) await this.attempt(task);
    const { count, taskId, lastError } = await this.held.summary(this.db.pool);
    if (count > 0) throw new Error(`${count} status updates are held, the oldest of task '${taskId}': ${lastError}`);
  }

  private async attempt(task: HeldTaskUpdates): Promise<void> {
    try {
      await this.status.write(async (tx, apply) => {
        await this.held.release(tx, task);
        return apply(task.updates.map(({ update }) => update));
      });
      await this.held.released(this.db.pool, task);
    } catch (cause) {
      if (isPassing(cause)) throw cause;
      await this.db.leaderTransaction((tx) => this.held.failedAgain(tx, task, cause));
    }
  }
}
