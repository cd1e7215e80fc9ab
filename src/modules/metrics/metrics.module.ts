import { Module } from '@nestjs/common';
import { HistoryBackfillModule } from '../history/backfill/history-backfill.module.js';
import { StateModule } from '../state/state.module.js';
import { ClusterFiguresStore } from './figures/cluster-figures-store.service.js';
import { ClusterFigures } from './figures/cluster-figures.service.js';
import { HttpFigures } from './figures/http-figures.service.js';
import { InstanceFigures } from './figures/instance-figures.service.js';
import { ProcessFigures } from './figures/process-figures.service.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsService } from './metrics.service.js';

@Module({
  imports: [HistoryBackfillModule, StateModule],
  controllers: [MetricsController],
  providers: [MetricsService, ClusterFigures, ClusterFiguresStore, HttpFigures, InstanceFigures, ProcessFigures],
})
export class MetricsModule {}
