import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';
import { WebhookOutbox } from '../webhooks/webhook-outbox.service.js';
import { LiveTasks } from './live-tasks.service.js';
import { loadLaunchedTask } from './task-cleanups.service.js';

/** What follows when the cleanup of a task was taken back before the task was killed. */
@Injectable()
export class WithdrawnCleanups {
  constructor(
    private readonly tasks: LiveTasks,
    private readonly outbox: WebhookOutbox,
  ) {}

  /** A spared task is not cleaning any more: its update of before counts again, and listeners are told so. */
  async forgetCleaning(tx: EntityManager, taskIds: readonly string[]): Promise<void> {
    const forgotten = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_update cleaning WHERE task_id = ANY ($1) AND state = 'TASK_CLEANING' AND NOT EXISTS
         (SELECT 1 FROM task_update later WHERE later.task_id = cleaning.task_id AND later.at > cleaning.at)
       RETURNING task_id`,
      [taskIds],
    );
    const live = await this.tasks.find(tx, { taskIds: forgotten.map((row) => row.task_id) });
    const updates = await this.tasks.updates(
      tx,
      live.map(({ taskId }) => taskId),
    );
    const newest = [...updates.values()].flatMap((ofTask) => ofTask.slice(-1));
    await this.outbox.tasks(tx, newest, (taskId) => loadLaunchedTask(tx, taskId));
  }
}
