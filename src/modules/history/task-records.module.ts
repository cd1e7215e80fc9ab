import { Module } from '@nestjs/common';
import { TaskRecords } from './task-records.service.js';
import { TaskSearches } from './task-search.service.js';

/** The reading side of tasks, live and ended, for every room that shows one. */
@Module({ providers: [TaskRecords, TaskSearches], exports: [TaskRecords, TaskSearches] })
export class TaskRecordsModule {}
