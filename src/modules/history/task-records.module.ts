import { Module } from '@nestjs/common';
import { OldPayloads } from './old-payloads.service.js';
import { TaskRecords } from './task-records.service.js';
import { TaskSearches } from './task-search.service.js';

/** The reading side of tasks, live and ended, for every room that shows one. */
@Module({ providers: [OldPayloads, TaskRecords, TaskSearches], exports: [OldPayloads, TaskRecords, TaskSearches] })
export class TaskRecordsModule {}
