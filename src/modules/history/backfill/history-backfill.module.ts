import { Module } from '@nestjs/common';
import { HistoryBackfillController } from './history-backfill.controller.js';
import { HistoryBackfillPoller } from './history-backfill.poller.js';
import { HistoryBackfill } from './history-backfill.service.js';
import { HistoryBackfillStore } from './history-backfill-store.service.js';

/** The history of an older installation becomes ours. HistoryBackfill.progress() tells other rooms how far it is. */
@Module({
  controllers: [HistoryBackfillController],
  providers: [HistoryBackfill, HistoryBackfillStore, HistoryBackfillPoller],
  exports: [HistoryBackfill],
})
export class HistoryBackfillModule {}
