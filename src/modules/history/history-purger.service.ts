import { Inject, Injectable } from '@nestjs/common';
import { purgeBefore, type PurgeLimits } from '../../core/history/index.js';
import type { DeployKey } from '../../core/model/deploy.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import type { PurgedPart } from './task-history.repository.js';

const hourMillis = 3_600_000;
const dayMillis = 24 * hourMillis;

/** Removes at most `most` rows that are older than `before`, and answers how many went. */
type Purge = (tx: Transaction, before: Date, most: number) => Promise<number>;

/** Removes old history. Every statement touches at most `purgeLimitPerQuery` rows, in a transaction of its own. */
@Injectable()
export class HistoryPurger {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Everything. What exceeds the limit per query of one request's tasks goes in the next run. */
  async purge(): Promise<void> {
    const now = this.clock.now();
    for (const id of await this.rows.taskHistory.requestIds(this.db.pool)) await this.purgeTasks(id, now);
    await this.purgeLeftovers();
    await this.purgeRequests();
    await this.purgeDeploys();
  }

  /** The history of requests that say how much of theirs is kept, whether the operator purges or not. */
  async purgeKeptRuns(): Promise<void> {
    const now = this.clock.now();
    for (const { id, keepRuns } of await this.rows.requestHistory.keptRuns(this.db.pool))
      await this.purgePart(id, 'rows', { afterDays: keepRuns.days ?? 0, afterTasks: keepRuns.count ?? 0 }, now);
  }

  /** Changes of requests. */
  async purgeRequests(): Promise<void> {
    const { purgeRequestHistoryAfterDays: days } = this.settings.historyPurging;
    await this.inBatches(days, (tx, before, most) => this.rows.requestHistory.purge(tx, before, most));
  }

  /** Deploys that nothing needs any more. */
  async purgeDeploys(): Promise<void> {
    const { purgeDeployHistoryAfterDays: days } = this.settings.historyPurging;
    await this.inBatches(days, (tx, before, most) => this.rows.deployHistory.purge(tx, before, most));
    await this.inBatches(days, (tx, _before, most) => this.rows.deployGates.purgeOfGoneDeploys(tx, most));
    if (days >= 1) await this.purgeStatistics();
  }

  /** Figures of deploys that are gone. */
  private async purgeStatistics(): Promise<void> {
    const { purgeLimitPerQuery } = this.settings.historyPurging;
    const { deployStatistics } = this.rows;
    let last: DeployKey | undefined;
    do last = await this.db.transaction((tx) => deployStatistics.purgeOfGoneDeploys(tx, purgeLimitPerQuery, last));
    while (last);
  }

  /** Figures of requests that are gone for good. */
  private async purgeLeftovers(): Promise<void> {
    const { purgeStaleRequestIdsAfterDays: days } = this.settings.historyPurging;
    await this.inBatches(days, (tx, before, most) => this.rows.deployStatistics.purgeOfGoneRequests(tx, before, most));
  }

  private async purgeTasks(requestId: string, now: number): Promise<void> {
    const { historyPurging: global } = this.settings;
    const limits = { ...global, ...global.requestOverrides[requestId] };
    const steps: { part: PurgedPart; limits: PurgeLimits }[] = [
      {
        part: 'rows',
        limits: {
          afterDays: limits.deleteTaskHistoryAfterDays,
          afterTasks: limits.deleteTaskHistoryAfterTasksPerRequest,
        },
      },
      {
        part: 'details',
        limits: {
          afterDays: limits.deleteTaskHistoryBytesAfterDays,
          afterTasks: limits.deleteTaskHistoryBytesAfterTasksPerRequest,
        },
      },
    ];
    for (const { part, limits } of steps) await this.purgePart(requestId, part, limits, now);
  }

  private purgePart(requestId: string, part: PurgedPart, limits: PurgeLimits, now: number): Promise<void> {
    const { purgeLimitPerQuery } = this.settings.historyPurging;
    return this.db.transaction(async (tx) => {
      const kept = await this.rows.taskHistory.purgeable(tx, part, requestId, limits.afterTasks);
      const before = purgeBefore(limits, kept, now);
      if (before !== undefined) await this.rows.taskHistory.purge(tx, part, requestId, before, purgeLimitPerQuery);
    });
  }

  /** Until none is left. Less than a day: nothing is purged. */
  private async inBatches(days: number, purge: Purge): Promise<void> {
    if (days < 1) return;
    const { purgeLimitPerQuery } = this.settings.historyPurging;
    const before = new Date(this.clock.now() - days * dayMillis);
    for (;;) {
      const gone = await this.db.transaction((tx) => purge(tx, before, purgeLimitPerQuery));
      if (gone < purgeLimitPerQuery) return;
    }
  }
}

/** Purges the history where the operator wants it: switched on, and a limit set for the rows of tasks. */
@Injectable()
export class HistoryPurgePoller {
  constructor(purger: HistoryPurger, pollers: Pollers, @Inject(SETTINGS) { historyPurging }: Settings) {
    const { enabled, deleteTaskHistoryAfterDays, deleteTaskHistoryAfterTasksPerRequest } = historyPurging;
    const isLimited = deleteTaskHistoryAfterDays >= 1 || deleteTaskHistoryAfterTasksPerRequest >= 1;
    if (!enabled || !isLimited || historyPurging.checkTaskHistoryEveryHours <= 0) return;
    pollers.register({
      name: 'history-purge',
      everyMs: historyPurging.checkTaskHistoryEveryHours * hourMillis,
      pass: () => purger.purge(),
    });
  }
}

/** Purges what requests do not keep. */
@Injectable()
export class KeptRunsPoller {
  constructor(purger: HistoryPurger, pollers: Pollers) {
    pollers.register({ name: 'kept-runs', everyMs: hourMillis, pass: () => purger.purgeKeptRuns() });
  }
}
