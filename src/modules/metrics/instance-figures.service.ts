import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, NextFunction, Request, Response } from 'express';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { uncaughtErrors } from '../../platform/health/uncaught-errors.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { isForwarded } from '../../platform/http/leader-only-routes.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';
import { Pollers } from '../../platform/poller/pollers.js';

/** Counts and times every call, also those that are refused before they come to a room. */
@Injectable()
export class HttpFigures {
  constructor({ httpAdapter }: HttpAdapterHost, metrics: Metrics) {
    const calls = metrics.counter('muster_http_requests_total', 'Calls that were answered', [
      'method',
      'route',
      'status',
    ]);
    const seconds = metrics.secondsOfCalls('muster_http_request_seconds', 'Time from a call to its answer', [
      'method',
      'route',
    ]);
    // Made while the application is built, so this comes before everything else that looks at calls.
    const express = httpAdapter.getInstance<Express>();
    express.use((request: Request, response: Response, next: NextFunction) => {
      const begin = performance.now();
      response.once('close', () => {
        // The process that answered it has counted it.
        if (isForwarded(request)) return;
        const labels = { method: request.method, route: routeOf(request) };
        calls.inc({ ...labels, status: String(response.statusCode) });
        seconds.observe(labels, (performance.now() - begin) / 1000);
      });
      next();
    });
  }
}

/** The pattern of its path: with ids instead, the figures would never end. Files and unknown paths are "other". */
const routeOf = ({ route }: Request): string => (route as { path?: string } | undefined)?.path ?? 'other';

/** Metrics of this instance: its leadership, its pollers, and the use of its connections. */
@Injectable()
export class InstanceFigures {
  constructor(metrics: Metrics, leadership: Leadership, pollers: Pollers, database: Database, clock: Clock) {
    const skew = 'Clock skew to the database, whose clock decides; positive: this machine is ahead';
    metrics.gauge('muster_clock_skew_seconds', skew, [], (gauge) => gauge.set(clock.skewMillis() / 1000), 'first');
    metrics.gauge('muster_leader', '1 on the instance that leads', [], (gauge) =>
      gauge.set(leadership.ready() ? 1 : 0),
    );
    const passes = 'Passes of each poller of this instance';
    metrics.counter('muster_poller_passes_total', passes, ['poller'], (counter) => {
      for (const { name, passes: count } of pollers.figures()) counter.inc({ poller: name }, count);
    });
    metrics.counter('muster_poller_failures_total', 'Those of them that failed', ['poller'], (counter) => {
      for (const { name, failures } of pollers.figures()) counter.inc({ poller: name }, failures);
    });
    const connections = 'Connections to the database by use; "waiting" are those who wait for one';
    metrics.gauge('muster_database_connections', connections, ['pool', 'state'], (gauge) => {
      for (const [pool, of] of Object.entries({ api: database.pool, leader: database.leaderPool })) {
        const { busy, idle, waiting } = of.figures();
        gauge.set({ pool, state: 'busy' }, busy);
        gauge.set({ pool, state: 'idle' }, idle);
        gauge.set({ pool, state: 'waiting' }, waiting);
      }
    });
  }
}

const quantiles = [0.5, 0.9, 0.99, 1] as const;

/** Metrics of this process: its use of the machine, and the delay of its event loop. */
@Injectable()
export class ProcessFigures implements OnModuleDestroy {
  private readonly delays: IntervalHistogram = monitorEventLoopDelay({ resolution: 10 });

  constructor(metrics: Metrics, clock: Clock, @Inject(PROCESS_ROLE) { kind }: ProcessRole) {
    this.delays.enable();
    const help = 'By how much timers were late since the last reading; process="api": in the worst of the API workers';
    const ofWorker = kind === 'worker' ? { process: 'api' } : {};
    metrics.gauge(
      'muster_event_loop_delay_seconds',
      help,
      ['quantile', 'process'],
      (gauge) => {
        for (const quantile of quantiles) {
          gauge.set({ quantile: String(quantile), ...ofWorker }, this.delays.percentile(quantile * 100) / 1e9);
        }
        this.delays.reset();
      },
      'max',
    );
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
      .gauge('process_start_time_seconds', 'When it was started, in seconds since 1970', [], undefined, 'first')
      .set(clock.now() / 1000 - process.uptime());
    metrics.counter('muster_uncaught_errors_total', 'Errors that nothing caught; they are in the log', [], (counter) =>
      counter.inc(uncaughtErrors.count),
    );
  }

  onModuleDestroy(): void {
    this.delays.disable();
  }
}
