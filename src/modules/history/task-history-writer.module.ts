import { Module } from '@nestjs/common';
import { HistoryMover } from './history-mover.service.js';
import { LiveTaskHistories } from './live-task-histories.service.js';
import { TaskHistoryWriter } from './task-history-writer.service.js';

/** The writing side of the task history: what the scheduler needs when a task ends. */
@Module({ providers: [HistoryMover, LiveTaskHistories, TaskHistoryWriter], exports: [HistoryMover, TaskHistoryWriter] })
export class TaskHistoryWriterModule {}
