import { Module } from '@nestjs/common';
import { LiveTaskHistories } from './live-task-histories.service.js';
import { OldPayloads } from './old-payloads.service.js';
import { TaskRecords } from './task-records.service.js';
import { TaskSearches } from './task-search.service.js';

/** The reading side of tasks, live and ended, for every room that shows one. */
@Module({
  providers: [LiveTaskHistories, OldPayloads, TaskRecords, TaskSearches],
  exports: [OldPayloads, TaskRecords, TaskSearches],
})
export class TaskRecordsModule {}
