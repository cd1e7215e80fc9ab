import { Module } from '@nestjs/common';
import { HistoryBackfillModule } from './backfill/history-backfill.module.js';
import { DeployHistories } from './deploy-histories.service.js';
import { HistoryPurgePoller } from './history-purge.poller.js';
import { HistoryPurgerModule } from './history-purger.module.js';
import { HistoryPoller } from './history.poller.js';
import { RequestHistories } from './request-histories.service.js';
import { RequestHistoryController } from './request-history.controller.js';
import { TaskHistories } from './task-histories.service.js';
import { TaskHistoryWriterModule } from './task-history-writer.module.js';
import { TaskHistoryController } from './task-history.controller.js';
import { TaskRecordsModule } from './task-records.module.js';

/** What was: tasks, deploys and changes of requests. */
@Module({
  imports: [TaskHistoryWriterModule, TaskRecordsModule, HistoryPurgerModule, HistoryBackfillModule],
  controllers: [TaskHistoryController, RequestHistoryController],
  providers: [TaskHistories, DeployHistories, RequestHistories, HistoryPoller, HistoryPurgePoller],
})
export class HistoryModule {}
