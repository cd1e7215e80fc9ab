import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskRepository } from '../tasks/task.repository.js';
import { Sampler } from './sampler.service.js';
import { Shuffler } from './shuffler.service.js';
import { TaskUsageRepository } from './task-usage.repository.js';
import { Utilizations } from './utilizations.service.js';

/** Every minute: what is used, what that makes of requests and the cluster, and who has to move because of it. */
@Injectable()
export class UsagePoller {
  constructor(
    private readonly sampler: Sampler,
    private readonly utilizations: Utilizations,
    private readonly shuffler: Shuffler,
    pollers: Pollers,
    @Inject(SETTINGS) { checkUsageEveryMillis }: Settings,
  ) {
    pollers.register({ name: 'usage', everyMs: checkUsageEveryMillis, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    const sampled = await this.sampler.sampleAll();
    await this.utilizations.refresh(now);
    await this.shuffler.shuffle(sampled, now);
  }
}

const tasksAtOnce = 500;

/** Keeps the newest samples of active tasks, and no others. One transaction per batch of tasks. */
@Injectable()
export class UsageCleaner {
  constructor(
    private readonly db: Database,
    private readonly tasks: TaskRepository,
    private readonly samples: TaskUsageRepository,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'usage-cleaner', everyMs: settings.cleanUsageEveryMillis, pass: () => this.runOnce() });
  }

  async runOnce(): Promise<void> {
    while (await this.db.leaderTransaction((tx) => this.samples.removeOfEnded(tx, tasksAtOnce)));
    let last: string | undefined = '';
    while (last !== undefined) last = await this.trimAfter(last);
  }

  /** Trims the samples of the next batch of active tasks. Answers the last of them. */
  private trimAfter(taskId: string): Promise<string | undefined> {
    return this.db.leaderTransaction(async (tx) => {
      const ids = await this.tasks.activeIdsAfter(tx, taskId, tasksAtOnce);
      if (ids.length > 0) await this.samples.trim(tx, ids, this.settings.numUsageToKeep);
      return ids.at(-1);
    });
  }
}
