import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { ClusterFiguresStore } from './figures/cluster-figures-store.service.js';
import { ClusterFigures } from './figures/cluster-figures.service.js';
import { toMetrics, type Metric } from './to-json.js';

/** The figures in both of their forms. */
@Injectable()
export class MetricsService {
  constructor(
    private readonly metrics: Metrics,
    private readonly cluster: ClusterFigures,
    private readonly db: Database,
    private readonly store: ClusterFiguresStore,
  ) {}

  async json(): Promise<{ metrics: Record<string, Metric> }> {
    await this.cluster.refresh();
    const figures = await this.metrics.registry.getMetricsAsJSON();
    return { metrics: toMetrics(figures as unknown as Parameters<typeof toMetrics>[0]) };
  }

  /** In the notation of Prometheus. */
  async text(): Promise<string> {
    await this.cluster.refresh();
    return this.metrics.registry.metrics();
  }

  idBytes(): Promise<Record<'allRequestIds' | 'taskStatuses' | 'taskHistoryIds', number>> {
    return this.store.idBytes(this.db.manager);
  }
}
