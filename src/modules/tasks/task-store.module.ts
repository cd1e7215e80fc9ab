import { Module } from '@nestjs/common';
import { WebhookOutboxModule } from '../webhooks/webhook-outbox.module.js';
import { LiveTasks } from './live-tasks.service.js';
import { PendingQueue } from './pending-queue.service.js';
import { TaskCleanups } from './task-cleanups.service.js';

/** The rows of tasks, of the pending queue and of cleanups, for every room that reads or orders something. */
@Module({
  imports: [WebhookOutboxModule],
  providers: [LiveTasks, PendingQueue, TaskCleanups],
  exports: [LiveTasks, PendingQueue, TaskCleanups],
})
export class TaskStoreModule {}
