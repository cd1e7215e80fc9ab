import { Inject, Injectable } from '@nestjs/common';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import { Database } from '../../platform/database/database.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';
import { Rows } from '../../rows.js';
import { ClusterFigures } from './cluster-figures.service.js';

/** The figures in both of their forms. */
@Injectable()
export class MetricsService {
  constructor(
    private readonly metrics: Metrics,
    @Inject(PROCESS_ROLE) private readonly role: ProcessRole,
    private readonly cluster: ClusterFigures,
    private readonly db: Database,
    private readonly rows: Rows,
  ) {}

  async json(): Promise<{ metrics: Record<string, Metric> }> {
    const registry = await this.read();
    const figures = await registry.getMetricsAsJSON();
    return { metrics: toMetrics(figures) };
  }

  /** In the notation of Prometheus. */
  async text(): Promise<string> {
    return (await this.read()).metrics();
  }

  /** Metrics of all processes of this instance together. */
  private async read(): Promise<Registry> {
    const { registry } = this.metrics;
    if (this.role.kind !== 'leader') {
      await this.cluster.refresh();
      return registry;
    }
    const [ofWorkers] = await Promise.all([this.role.workers.metrics(), this.cluster.refresh()]);
    return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...ofWorkers]);
  }

  /** Bytes of the ids of all requests, of all live tasks, and of all tasks of the history. */
  idBytes(): Promise<Record<'allRequestIds' | 'taskStatuses' | 'taskHistoryIds', number>> {
    return this.db.snapshot(async (tx) => ({
      allRequestIds: await this.rows.requests.idBytes(tx),
      taskStatuses: await this.rows.tasks.idBytes(tx),
      taskHistoryIds: await this.rows.taskHistory.idBytes(tx),
    }));
  }
}

/** One figure: a gauge has a value, a counter a count, times have counts, sums and percentiles. */
export interface Metric {
  value?: number;
  count?: number;
  sum?: number;
  mean?: number;
  p50?: number;
  p95?: number;
  p99?: number;
}

type Read = Pick<MetricObjectWithValues<MetricValue<string> & { metricName?: string }>, 'name' | 'type' | 'values'>;

/** The figures as a map: "name", or "name{label=value,...}" where there are several of a name. */
export function toMetrics(figures: readonly Read[]): Record<string, Metric> {
  const metrics = figures.flatMap((figure): [string, Metric][] => {
    if (String(figure.type) === 'histogram') return histograms(figure);
    const member = String(figure.type) === 'counter' ? 'count' : 'value';
    return figure.values.map(({ labels, value }) => [nameOf(figure.name, labels), { [member]: value }]);
  });
  return Object.fromEntries(metrics);
}

interface Times {
  count: number;
  sum: number;
  /** Number of times that took at most so long, ascending. */
  buckets: { atMost: number; count: number }[];
}

function histograms({ name, values }: Read): [string, Metric][] {
  const byLabels = new Map<string, Times>();
  for (const { metricName, labels, value } of values) {
    const { le, ...own } = labels as Record<string, string | number>;
    const key = nameOf(name, own);
    const times = byLabels.get(key) ?? { count: 0, sum: 0, buckets: [] };
    byLabels.set(key, times);
    if (metricName === `${name}_count`) times.count = value;
    else if (metricName === `${name}_sum`) times.sum = value;
    else times.buckets.push({ atMost: le === '+Inf' ? Infinity : Number(le), count: value });
  }
  return [...byLabels].map(([key, times]) => [key, summary(times)]);
}

const summary = ({ count, sum, buckets }: Times): Metric => ({
  count,
  sum,
  mean: count === 0 ? 0 : sum / count,
  p50: percentile(buckets, 0.5 * count),
  p95: percentile(buckets, 0.95 * count),
  p99: percentile(buckets, 0.99 * count),
});

/** Between the bounds of a bucket the times are taken to lie evenly; beyond the last bound, to be that bound. */
function percentile(buckets: Times['buckets'], rank: number): number {
  let below = { atMost: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= rank && bucket.count > below.count) {
      if (bucket.atMost === Infinity) return below.atMost;
      const share = (rank - below.count) / (bucket.count - below.count);
      return below.atMost + share * (bucket.atMost - below.atMost);
    }
    below = bucket;
  }
  return 0;
}

function nameOf(name: string, labels: object): string {
  const shown = Object.entries(labels).map(([label, value]) => `${label}=${String(value)}`);
  return shown.length === 0 ? name : `${name}{${shown.join(',')}}`;
}
