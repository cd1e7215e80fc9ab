import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock } from '../clock.js';
import { Metrics } from './metrics.js';
import { RecentRate } from './recent-rate.js';

/** How many tasks this instance has put on machines while it led. */
@Injectable()
export class PlacementFigures {
  private readonly total: Counter;
  private readonly recent = new RecentRate();

  constructor(
    metrics: Metrics,
    private readonly clock: Clock,
  ) {
    this.total = metrics.counter('muster_placements_total', 'Tasks that this instance put on machines');
    metrics.gauge('muster_placements_per_second', 'The same per second, over the last minute', [], (gauge) =>
      gauge.set(this.recent.perSecond(this.clock.now())),
    );
  }

  placed(count: number): void {
    this.total.inc(count);
    this.recent.add(count, this.clock.now());
  }
}
