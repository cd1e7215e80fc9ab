import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
import { isSilent } from '../../core/machines/silence.js';
import { hasPassed } from '../../core/elapsed.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { ReconciliationWishRepository } from '../../modules/tasks/reconciliation-wish.repository.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { UnaskedMachines } from '../memory/unasked-machines.js';
import { ListComparison } from './list-comparison.service.js';

/** Interval between questions about one stalled launch. */
const askAgainMillis = 15_000;
/** Looking for stalled launches reads all live tasks. */
const findStalledEveryMillis = 5_000;

/**
 * Single tasks that are asked after: launches without a sign of life, those that a caller named, and all that a machine runs
 * which is back after tasks on it were given up.
 */
@Injectable()
export class AskedTasks {
  /** Tasks whose updates were still on their way, or whose launches could not be withdrawn. */
  private askAgain = new Set<string>();
  /** Time of the last question about each stalled launch, in epoch milliseconds. */
  private stalledAskedAt = new Map<string, number>();
  private checkedAt = 0;

  constructor(
    private readonly db: Database,
    private readonly wishes: ReconciliationWishRepository,
    private readonly tasks: MachineTaskRepository,
    private readonly comparison: ListComparison,
    private readonly unasked: UnaskedMachines,
    private readonly wake: Wake,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async runOnce(epoch: Epoch, now: number): Promise<void> {
    const named = [...this.askAgain, ...(await this.takeWishes())];
    // Wishes are gone from their table: they are kept until they were asked for.
    this.askAgain = new Set(named);
    const stalled = await this.stalledLaunches(now);
    const back = this.returnedMachines();
    const returned = back.size === 0 ? [] : await this.tasks.givenUp(this.db.pool, [...back.keys()]);
    const asked = [...new Set([...named, ...stalled, ...returned.map(({ taskId }) => taskId)])];
    if (asked.length + back.size === 0) return;
    const { tooEarly, unsettled, slaveIds } = await this.comparison.only(epoch, asked, new Set(back.values()));
    this.askAgain = new Set([...tooEarly, ...unsettled]);
    if (this.unasked.asked(slaveIds)) this.wake.signal('scheduler');
  }

  /** Machines on which tasks were given up and that answer again, with their agents: before anything is placed there. */
  private returnedMachines(): Map<string, string> {
    const waiting = this.unasked.toAsk();
    if (waiting.size === 0) return new Map();
    const back = this.driver
      .machines()
      .filter(({ slaveId, silentForMillis }) => waiting.has(slaveId) && !isSilent(silentForMillis));
    return new Map(back.map(({ slaveId, agentId }) => [slaveId, agentId]));
  }

  private async takeWishes(): Promise<string[]> {
    if (!(await this.wishes.any(this.db.pool))) return [];
    return this.db.leaderTransaction((tx) => this.wishes.take(tx));
  }

  /** Launched long ago and not heard of since, each of them at most every 15 seconds. */
  private async stalledLaunches(now: number): Promise<string[]> {
    if (!hasPassed(this.checkedAt, findStalledEveryMillis, now)) return [];
    this.checkedAt = now;
    const found = await this.tasks.silentSince(this.db.pool, now - this.settings.reconcileLaunchAfterMillis);
    const isDue = (taskId: string): boolean =>
      hasPassed(this.stalledAskedAt.get(taskId) ?? -Infinity, askAgainMillis, now);
    const due = new Set(found.filter(isDue));
    this.stalledAskedAt = new Map(found.map((id) => [id, due.has(id) ? now : this.stalledAskedAt.get(id)!]));
    return [...due];
  }
}
