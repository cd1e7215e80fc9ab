import { Inject, Injectable, Logger } from '@nestjs/common';
import { aheadMillis } from '../core/elapsed.js';
import { Rows } from '../rows.js';
import type { ClockLimit } from '../platform/clock-limit.js';
import { Database } from '../platform/database/database.js';
import type { Transaction } from '../platform/database/transaction.js';
import { Pollers } from '../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../platform/settings/settings.js';
import { HeldStatusUpdateRepository } from './status/held-status-update.repository.js';

/** Instances that have not yet seen that the clock was set may write such times for a second or two. */
const everyMillis = 60_000;

/**
 * Rows of a time when the clock of the database was ahead, after it was set back. What waits since a time that is still to come is
 * due now, or waits from now on: how long ago that was is not known, and nothing waits for the time that was wrong. At each
 * takeover, for a term ends when the clock is set; and now and then, for what others wrote meanwhile.
 */
@Injectable()
export class ClockSetBack {
  private readonly log = new Logger(ClockSetBack.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly held: HeldStatusUpdateRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'clock-set-back', everyMs: everyMillis, pass: (now) => this.runOnce(now) });
  }

  runOnce(now: number): Promise<void> {
    return this.db.leaderTransaction((tx) => this.judgeAnew(tx, now));
  }

  /** In the lock order of all: deploys, tasks, the rest. */
  async judgeAnew(tx: Transaction, now: number): Promise<void> {
    const limit = limitAt(now);
    const { defaultDisabledActionExpiration } = this.settings.disasterDetection;
    const counts = {
      deploys: await this.rows.deployTimes.takeTimesAhead(tx, limit),
      tasks: await this.rows.watchedTasks.takeTimesAhead(tx, limit),
      'failing tasks': await this.rows.taskLiveness.takeTimesAhead(tx, limit),
      kills: await this.rows.killedTasks.takeTimesAhead(tx, limit),
      'changes that lapse': await this.rows.expiringActions.takeTimesAhead(tx, limit),
      'webhook updates': await this.rows.webhookQueue.takeTimesAhead(tx, limit),
      mails: await this.rows.mailQueue.takeTimesAhead(tx, limit),
      'actions switched off': await this.rows.disabledActions.takeTimesAhead(tx, now + defaultDisabledActionExpiration),
      'held updates': await this.held.takeTimesAhead(tx, limit),
    };
    const found = Object.entries(counts).filter(([, count]) => count > 0);
    if (found.length === 0) return;
    const list = found.map(([what, count]) => `${count} ${what}`).join(', ');
    this.log.warn(`No longer waiting for times that a fast clock had set: ${list}`);
  }

  /** For a takeover, which plans what is missing: tasks of services that wait for the end of a pause that began in the future. */
  async dropPlans(tx: Transaction, now: number): Promise<void> {
    await this.rows.plannedRuns.dropPlannedAhead(tx, limitAt(now));
  }
}

const limitAt = (now: number): ClockLimit => ({ now: new Date(now), latest: new Date(now + aheadMillis) });
