import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';
import { LiveTasks } from '../../tasks/live-tasks.service.js';
import { PendingQueue } from '../../tasks/pending-queue.service.js';
import { loadLaunchedTask } from '../../tasks/task-cleanups.service.js';
import { WebhookOutbox } from '../../webhooks/webhook-outbox.service.js';
import type { LockedRequest } from '../request-actions.service.js';
import { RequestStore } from '../request-store.service.js';
import type { ExpiringBounceAction } from './expiring-action.js';

/** Gives up a bounce that took too long: old tasks that still wait for their replacement stay. For the leader only. */
@Injectable()
export class BounceReverts {
  constructor(
    private readonly requests: RequestStore,
    private readonly queue: PendingQueue,
    private readonly tasks: LiveTasks,
    private readonly outbox: WebhookOutbox,
  ) {}

  /** New tasks that are then too many fall to the next scale-down of the queue. */
  async undo(
    tx: EntityManager,
    action: ExpiringBounceAction,
    { stored, now }: LockedRequest,
    message: string,
  ): Promise<void> {
    const { targetId: requestId, actionId } = action;
    await this.requests.save(tx, { ...stored, bouncing: false, changedAt: now });
    await tx.query('DELETE FROM request_cleanup WHERE request_id = $1 AND action_id = $2', [requestId, actionId]);
    await tx.query('DELETE FROM pending_request WHERE request_id = $1 AND action_id = $2', [requestId, actionId]);
    const spared = await rows<{ task_id: string }>(
      tx,
      'DELETE FROM task_cleanup WHERE request_id = $1 AND action_id = $2 RETURNING task_id',
      [requestId, actionId],
    );
    await this.forgetCleaning(
      tx,
      spared.map((row) => row.task_id),
    );
    await this.queue.enqueue(tx, {
      requestId,
      deployId: action.revert.deployId,
      timestamp: now,
      user: action.user,
      pendingType: 'CANCEL_BOUNCE',
      message,
      actionId,
    });
  }

  /** A spared task is not cleaning any more: its update of before counts again, and listeners are told so. */
  private async forgetCleaning(tx: EntityManager, taskIds: readonly string[]): Promise<void> {
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
