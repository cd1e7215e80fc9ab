import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DisasterDataPoint } from '../../core/model/disaster.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { DisasterStore } from './disaster-store.service.js';
import { LossCounter } from './loss-counter.js';
import { LossReads, type Losses } from './loss-reads.service.js';

/** How much later than its time a loss may become known and still be counted. */
const lossesKnownWithinMillis = 60_000;

interface Counts {
  active: number;
  pending: number;
  late: number;
  lag: number;
  slaves: number;
}

export interface Figures {
  point: DisasterDataPoint;
  /** To be called when the point is stored: its losses are not counted again. */
  stored: () => void;
}

/** Puts the cluster into figures. */
@Injectable()
export class DisasterFigures {
  private readonly tasks = new LossCounter();
  private readonly slaves = new LossCounter();

  constructor(
    private readonly db: Database,
    private readonly store: DisasterStore,
    private readonly losses: LossReads,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async collect(epoch: number, now: number): Promise<Figures> {
    const { counts, since, found } = await this.db.snapshot(async (tx) => {
      const [last] = await this.store.dataPoints(tx);
      const before = last?.timestamp ?? now - this.settings.disasterDetection.runEveryMillis;
      const lookBackTo = Math.min(before, now - lossesKnownWithinMillis);
      return { counts: await this.counts(tx, now), since: before, found: await this.losses.find(tx, lookBackTo) };
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

  private remember({ tasks, slaves }: Losses, epoch: number): void {
    this.tasks.counted(tasks, epoch);
    this.slaves.counted(slaves, epoch);
  }

  private async counts(tx: EntityManager, now: number): Promise<Counts> {
    const [found] = await rows<Counts>(
      tx,
      `SELECT (SELECT count(*)::int FROM task WHERE ended_at IS NULL) AS active,
         (SELECT count(*)::int FROM slave WHERE state NOT IN ('DEAD', 'MISSING_ON_STARTUP')) AS slaves,
         count(*)::int AS pending,
         count(*) FILTER (WHERE next_run_at < $2)::int AS late,
         coalesce(floor(avg(extract(epoch FROM $1 - next_run_at) * 1000) FILTER (WHERE next_run_at < $1)), 0)::float8 AS lag
       FROM pending_task WHERE NOT delete_requested`,
      [new Date(now), new Date(now - this.settings.deltaAfterWhichTasksAreLateMillis)],
    );
    return found!;
  }
}
