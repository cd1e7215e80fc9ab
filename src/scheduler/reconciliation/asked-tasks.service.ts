import { Inject, Injectable } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { ReconciliationWishRepository } from '../../modules/tasks/reconciliation-wish.repository.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { ListComparison } from './list-comparison.service.js';

/** How often one stalled launch is asked after. */
const askAgainMillis = 15_000;
/** Looking for stalled launches reads all live tasks. */
const lookForStalledEveryMillis = 5_000;

/** Single tasks that are asked after: launches without a sign of life, and those that a caller named. */
@Injectable()
export class AskedTasks {
  /** Named tasks whose updates were still on their way. */
  private askAgain = new Set<string>();
  /** When each stalled launch was asked after last, in epoch milliseconds. */
  private stalledAskedAt = new Map<string, number>();
  private lookedAt = 0;

  constructor(
    private readonly db: Database,
    private readonly wishes: ReconciliationWishRepository,
    private readonly tasks: MachineTaskRepository,
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
    if (!(await this.wishes.any(this.db.manager))) return [];
    return this.db.leaderTransaction((tx) => this.wishes.take(tx));
  }

  /** Launched long ago and not heard of since, each of them at most every 15 seconds. */
  private async stalledLaunches(now: number): Promise<string[]> {
    if (!hasPassed(this.lookedAt, lookForStalledEveryMillis, now)) return [];
    this.lookedAt = now;
    const found = await this.tasks.silentSince(this.db.manager, now - this.settings.reconcileLaunchAfterMillis);
    const isDue = (taskId: string): boolean => now - (this.stalledAskedAt.get(taskId) ?? -Infinity) >= askAgainMillis;
    const due = new Set(found.filter(isDue));
    this.stalledAskedAt = new Map(found.map((id) => [id, due.has(id) ? now : this.stalledAskedAt.get(id)!]));
    return [...due];
  }
}
