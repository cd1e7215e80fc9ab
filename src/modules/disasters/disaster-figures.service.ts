import { Inject, Injectable } from '@nestjs/common';
import type { DisasterDataPoint } from '../../core/model/state.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';

/** Longest delay with which a loss may become known and still be counted. */
const lossesKnownWithinMillis = 60_000;

export interface Figures {
  point: DisasterDataPoint;
  /** To be called when the point is stored: its losses are not counted again. */
  stored: () => void;
}

/** The loss of a task or a slave. */
export interface Loss {
  id: string;
  /** Epoch milliseconds. */
  at: number;
}

/**
 * Counts each loss once, for the leader. A loss may become known a good while after its time, so each look goes back
 * further than to the look before, and what was counted is remembered.
 */
export class LossCounter {
  private epoch: number | undefined;
  private known: ReadonlySet<string> = new Set();

  /**
   * The losses among `found` that were not counted. A new leader knows only that its predecessor counted until `since`.
   */
  fresh(found: readonly Loss[], epoch: number, since: number): Loss[] {
    if (epoch !== this.epoch) return found.filter(({ at }) => at > since);
    return found.filter(({ id }) => !this.known.has(id));
  }

  /** All of these are counted now. */
  counted(found: readonly Loss[], epoch: number): void {
    this.epoch = epoch;
    this.known = new Set(found.map(({ id }) => id));
  }
}

interface Losses {
  tasks: Loss[];
  slaves: Loss[];
}

/** REASON_SLAVE_REMOVED, AGENT_REMOVED and REASON_AGENT_REMOVED are one reason. */
const spellings = (reason: string): string[] => {
  const bare = reason.replace(/^REASON_/, '');
  return [bare.replace('SLAVE', 'AGENT'), bare.replace('AGENT', 'SLAVE')].map((name) => `REASON_${name}`);
};

/** Reasons that a deploy can cause on any machine: they say nothing about the cluster, whatever the settings name. */
const madeByDeploys = new Set(['REASON_CONTAINER_LAUNCH_FAILED', 'REASON_TASK_INVALID']);

/** Puts the cluster into figures. */
@Injectable()
export class DisasterFigures {
  private readonly tasks = new LossCounter();
  private readonly slaves = new LossCounter();
  private readonly lostReasons: string[];

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const reasons = settings.disasterDetection.lostTaskReasons.flatMap(spellings);
    this.lostReasons = reasons.filter((reason) => !madeByDeploys.has(reason));
  }

  async collect(epoch: number, now: number): Promise<Figures> {
    const { counts, since, found } = await this.db.snapshot(async (tx) => {
      const [last] = await this.rows.disasters.dataPoints(tx);
      const before = last?.timestamp ?? now - this.settings.disasterDetection.runEveryMillis;
      const lookBackTo = Math.min(before, now - lossesKnownWithinMillis);
      const lateBefore = now - this.settings.deltaAfterWhichTasksAreLateMillis;
      const counts = await this.rows.disasters.clusterCounts(tx, now, lateBefore);
      return { counts, since: before, found: await this.losses(tx, lookBackTo) };
    });
    return {
      point: {
        timestamp: now,
        numActiveTasks: counts.active,
        numPendingTasks: counts.pending,
        numLateTasks: counts.late,
        avgTaskLagMillis: counts.lag,
        numLostTasks: this.tasks.fresh(found.tasks, epoch, since).length,
        numActiveSlaves: counts.slaves,
        numLostSlaves: this.slaves.fresh(found.slaves, epoch, since).length,
      },
      stored: () => this.remember(found, epoch),
    };
  }

  /** At `since` or later. A task that is lost stands in the history, or for a while still among the live ones. */
  private async losses(tx: Transaction, since: number): Promise<Losses> {
    const live = await this.rows.tasks.lostSince(tx, since, this.lostReasons);
    const ended = await this.rows.taskHistory.lostSince(tx, since, this.lostReasons);
    return { tasks: [...live, ...ended], slaves: await this.rows.machineHistory.lostSlavesSince(tx, since) };
  }

  private remember({ tasks, slaves }: Losses, epoch: number): void {
    this.tasks.counted(tasks, epoch);
    this.slaves.counted(slaves, epoch);
  }
}
