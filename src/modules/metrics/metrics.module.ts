import { Module } from '@nestjs/common';
import { HistoryBackfillModule } from '../history/backfill/history-backfill.module.js';
import { StateModule } from '../state/state.module.js';
import { ClusterFigures } from './cluster-figures.service.js';
import { HttpFigures, InstanceFigures, ProcessFigures } from './instance-figures.service.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsService } from './metrics.service.js';
import { WorkerMetrics } from './worker-metrics.service.js';

@Module({
  imports: [HistoryBackfillModule, StateModule],
  controllers: [MetricsController],
  providers: [MetricsService, ClusterFigures, HttpFigures, InstanceFigures, ProcessFigures, WorkerMetrics],
})
export class MetricsModule {}
