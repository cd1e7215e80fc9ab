import { Module } from '@nestjs/common';
import { TaskHistoryWriter } from './task-history-writer.service.js';

/** The writing side of the task history: what the scheduler needs when a task ends. */
@Module({ providers: [TaskHistoryWriter], exports: [TaskHistoryWriter] })
export class TaskHistoryWriterModule {}
