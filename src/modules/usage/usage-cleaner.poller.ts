import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { SampleStore } from './sample-store.service.js';

const tasksAtOnce = 500;

/** Keeps the newest samples of active tasks, and no others. One transaction per batch of tasks. */
@Injectable()
export class UsageCleaner {
  constructor(
    private readonly db: Database,
    private readonly samples: SampleStore,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'usage-cleaner', everyMs: settings.cleanUsageEveryMillis, pass: () => this.runOnce() });
  }

  async runOnce(): Promise<void> {
    while (await this.db.leaderTransaction((tx) => this.samples.removeOfEnded(tx, tasksAtOnce)));
    await this.trim();
  }

  private async trim(): Promise<void> {
    const { numUsageToKeep } = this.settings;
    let last: string | undefined = '';
    while (last !== undefined) {
      const after: string = last;
      last = await this.db.leaderTransaction((tx) => this.samples.trimAfter(tx, after, numUsageToKeep, tasksAtOnce));
    }
  }
}
