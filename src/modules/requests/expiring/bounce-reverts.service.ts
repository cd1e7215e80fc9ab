import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';
import { PendingQueue } from '../../tasks/pending-queue.service.js';
import { WithdrawnCleanups } from '../../tasks/withdrawn-cleanups.service.js';
import type { LockedRequest } from '../request-actions.service.js';
import { RequestStore } from '../request-store.service.js';
import type { ExpiringBounceAction } from './expiring-action.js';

/** Gives up a bounce that took too long: old tasks that still wait for their replacement stay. For the leader only. */
@Injectable()
export class BounceReverts {
  constructor(
    private readonly requests: RequestStore,
    private readonly queue: PendingQueue,
    private readonly withdrawn: WithdrawnCleanups,
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
    // Ids of actions are chosen by callers: another order under the same one, such as a deletion, is none of ours.
    await tx.query(
      `DELETE FROM request_cleanup WHERE request_id = $1 AND action_id = $2
         AND cleanup_type IN ('BOUNCE', 'INCREMENTAL_BOUNCE')`,
      [requestId, actionId],
    );
    await tx.query(`DELETE FROM pending_request WHERE request_id = $1 AND action_id = $2 AND pending_type = 'BOUNCE'`, [
      requestId,
      actionId,
    ]);
    const spared = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_cleanup WHERE request_id = $1 AND action_id = $2
         AND cleanup_type IN ('BOUNCING', 'INCREMENTAL_BOUNCE') RETURNING task_id`,
      [requestId, actionId],
    );
    await this.withdrawn.forgetCleaning(
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
}
