import { Module } from '@nestjs/common';
import { HistoryBackfillController } from './history-backfill.controller.js';
import { HistoryBackfill, HistoryBackfillPoller } from './history-backfill.service.js';

/** The history of an older installation becomes ours. HistoryBackfill.progress() tells other rooms how far it is. */
@Module({
  controllers: [HistoryBackfillController],
  providers: [HistoryBackfill, HistoryBackfillPoller],
  exports: [HistoryBackfill],
})
export class HistoryBackfillModule {}
