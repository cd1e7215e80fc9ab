import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { KilledTaskRepository } from '../killed-task.repository.js';
import { TaskCleanupRepository } from '../task-cleanup.repository.js';
import { RequestCleaner } from './request-cleaner.service.js';
import { tellFailure } from '../../../platform/tell-failure.js';

/** Carries out what was ordered: pauses, deletions, bounces, and tasks that have to go. */
@Injectable()
export class CleanupPoller implements OnModuleInit {
  private readonly log = new Logger(CleanupPoller.name);

  constructor(
    private readonly db: Database,
    private readonly cleaner: RequestCleaner,
    private readonly cleanups: TaskCleanupRepository,
    private readonly kills: KilledTaskRepository,
    private readonly wake: Wake,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'cleanup',
      essential: true,
      runsWhile: 'RUN_CLEANUP_POLLER',
      everyMs: this.settings.cleanupEverySeconds * 1000,
      pass: (now, requestIds) => this.runOnce(now, requestIds),
      takesKeys: true,
      wakeOn: ['cleanup'],
    });
  }

  /** One pass over all requests with something to clean, or over these of them. Public so that a test runs it with its own `now`. */
  async runOnce(now: number, requestIds?: ReadonlySet<string>): Promise<void> {
    const wanted = requestIds && [...requestIds];
    for (const requestId of await this.cleanups.requestIdsToClean(this.db.pool, wanted)) {
      // The others are cleaned even when one is stuck.
      await this.clean(requestId, now).catch((cause: unknown) => {
        if (concernsAll(cause)) throw cause;
        tellFailure(this.log, `Cleanup of request ${requestId} is stuck`, cause);
      });
    }
    if (!(await this.kills.needsRepeat(this.db.pool, now))) return;
    const repeated = await this.db.leaderTransaction((tx) => this.kills.repeat(tx, now));
    if (repeated > 0) this.wake.signal('dispatch');
  }

  private async clean(requestId: string, now: number): Promise<void> {
    const changed = await this.db.leaderTransaction((tx) => this.cleaner.clean(tx, requestId, now));
    // A deletion waits until the deploy in progress has been ended, hence 'deploys'.
    if (changed) {
      this.wake.signalOf(
        [requestId],
        'dispatch',
        'scheduler',
        'deploys',
        'webhooks',
        'load-balancer',
        'shell-commands',
      );
    }
  }
}
