import { Module } from '@nestjs/common';
import { HistoryBackfillModule } from './backfill/history-backfill.module.js';
import { HistoryMover, HistoryPoller } from './history-mover.service.js';
import { HistoryPurgePoller, HistoryPurger, KeptRunsPoller } from './history-purger.service.js';
import { DeployHistories, RequestHistories } from './request-histories.service.js';
import { RequestHistoryController } from './request-history.controller.js';
import { TaskHistories } from './task-histories.service.js';
import { TaskHistoryController } from './task-history.controller.js';

/** For the scheduler, which moves a task when it ends. Without the pollers, which would move the others. */
@Module({ providers: [HistoryMover], exports: [HistoryMover] })
export class HistoryMoverModule {}

/** History of tasks, deploys and requests. */
@Module({
  imports: [HistoryMoverModule, HistoryBackfillModule],
  controllers: [TaskHistoryController, RequestHistoryController],
  providers: [
    TaskHistories,
    DeployHistories,
    RequestHistories,
    HistoryPoller,
    HistoryPurger,
    HistoryPurgePoller,
    KeptRunsPoller,
  ],
  exports: [HistoryPurger],
})
export class HistoryModule {}
