import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { uncaughtErrors } from '../../../platform/health/uncaught-errors.js';
import { Metrics } from '../../../platform/metrics/metrics.js';

const quantiles = [0.5, 0.9, 0.99, 1] as const;

/** What this process costs, and whether it comes to answer in time. */
@Injectable()
export class ProcessFigures implements OnModuleDestroy {
  private readonly delays: IntervalHistogram = monitorEventLoopDelay({ resolution: 10 });

  constructor(metrics: Metrics) {
    this.delays.enable();
    const help = 'By how much timers of this process were late since the last reading';
    metrics.gauge('muster_event_loop_delay_seconds', help, ['quantile'], (gauge) => {
      for (const quantile of quantiles) {
        gauge.set({ quantile: String(quantile) }, this.delays.percentile(quantile * 100) / 1e9);
      }
      this.delays.reset();
    });
    metrics.counter('process_cpu_seconds_total', 'Processor time that was used', [], (counter) => {
      const { user, system } = process.cpuUsage();
      counter.inc((user + system) / 1e6);
    });
    metrics.gauge('process_resident_memory_bytes', 'Memory that is held', [], (gauge) =>
      gauge.set(process.memoryUsage.rss()),
    );
    metrics.gauge('process_heap_used_bytes', 'Memory that values of the program take', [], (gauge) =>
      gauge.set(process.memoryUsage().heapUsed),
    );
    metrics
      .gauge('process_start_time_seconds', 'When it was started, in seconds since 1970')
      .set(Date.now() / 1000 - process.uptime());
    metrics.counter('muster_uncaught_errors_total', 'Errors that nothing caught; they are in the log', [], (counter) =>
      counter.inc(uncaughtErrors.count),
    );
  }

  onModuleDestroy(): void {
    this.delays.disable();
  }
}
