import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock } from '../clock.js';
import { Metrics } from './metrics.js';

/** Counts the tasks that this instance has placed while it led. */
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

const windowSeconds = 60;

/** Rate of an event per second, over the last minute. */
export class RecentRate {
  /** Per second of the window: which second it is for, and how often it happened in it. */
  private readonly seconds = Array.from({ length: windowSeconds }, () => ({ second: -1, count: 0 }));

  add(count: number, now: number): void {
    const second = Math.floor(now / 1000);
    const place = this.seconds[second % windowSeconds]!;
    if (place.second !== second) Object.assign(place, { second, count: 0 });
    place.count += count;
  }

  perSecond(now: number): number {
    const oldest = Math.floor(now / 1000) - windowSeconds;
    const recent = this.seconds.filter(({ second }) => second > oldest);
    return recent.reduce((sum, { count }) => sum + count, 0) / windowSeconds;
  }
}
