import { Inject, Injectable } from '@nestjs/common';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { ListComparison } from './list-comparison.service.js';

/** How often one stalled launch is asked after. */
const askAgainMillis = 15_000;
/** Looking for them reads all live tasks. */
const lookForStalledEveryMillis = 5_000;

/** Single tasks that are asked after: launches without a sign of life, and those that somebody named. */
@Injectable()
export class AskedTasks {
  /** Named ones whose updates were still on their way. */
  private askAgain = new Set<string>();
  /** When each stalled launch was asked after last, in epoch milliseconds. */
  private stalledAskedAt = new Map<string, number>();
  private lookedAt = 0;

  constructor(
    private readonly db: Database,
    private readonly comparison: ListComparison,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async runOnce(epoch: Epoch, now: number): Promise<void> {
    const named = [...this.askAgain, ...(await this.takeWishes())];
    const stalled = await this.stalledLaunches(now);
    if (named.length + stalled.length === 0) return;
    const { tooEarly } = await this.comparison.only(epoch, [...new Set([...named, ...stalled])]);
    this.askAgain = new Set(tooEarly);
  }

  private async takeWishes(): Promise<string[]> {
    const waiting = await rows(this.db.manager, 'SELECT 1 FROM reconciliation_wish LIMIT 1');
    if (waiting.length === 0) return [];
    const taken = await this.db.leaderTransaction((tx) =>
      rows<{ task_id: string }>(tx, 'DELETE FROM reconciliation_wish RETURNING task_id'),
    );
    return taken.map((row) => row.task_id);
  }

  /** Launched long ago and not heard of since, each of them at most every 15 seconds. */
  private async stalledLaunches(now: number): Promise<string[]> {
    if (now - this.lookedAt < lookForStalledEveryMillis) return [];
    this.lookedAt = now;
    const found = await rows<{ task_id: string }>(
      this.db.manager,
      `SELECT task_id FROM task WHERE state = 'TASK_LAUNCHED' AND ended_at IS NULL AND started_at < $1`,
      [new Date(now - this.settings.reconcileLaunchAfterMillis)],
    );
    const isDue = (taskId: string): boolean => now - (this.stalledAskedAt.get(taskId) ?? -Infinity) >= askAgainMillis;
    const due = new Set(found.map((row) => row.task_id).filter(isDue));
    this.stalledAskedAt = new Map(
      found.map(({ task_id: id }) => [id, due.has(id) ? now : this.stalledAskedAt.get(id)!]),
    );
    return [...due];
  }
}
