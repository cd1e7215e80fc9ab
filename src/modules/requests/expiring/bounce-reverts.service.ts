import { Injectable } from '@nestjs/common';
import { Rows } from '../../../rows.js';
import type { LockedRequest } from '../request-actions.service.js';
import type { ExpiringBounceAction } from '../../../platform/actions/expiring-action.entity.js';
import type { Transaction } from '../../../platform/database/transaction.js';

/** Gives up a bounce that took too long: old tasks that still wait for their replacement stay. For the leader only. */
@Injectable()
export class BounceReverts {
  constructor(private readonly rows: Rows) {}

  /** New tasks that are then too many fall to the next scale-down of the queue. */
  async undo(
    tx: Transaction,
    action: ExpiringBounceAction,
    { stored, now }: LockedRequest,
    message: string,
  ): Promise<void> {
    const { targetId: requestId, actionId } = action;
    await this.rows.requests.save(tx, { ...stored, bouncing: false, changedAt: now });
    await this.rows.requestCleanups.removeBounce(tx, requestId, actionId);
    await this.rows.pendingRequests.removeBounce(tx, requestId, actionId);
    await this.rows.taskCleanups.withdrawBounce(tx, requestId, actionId);
    await this.rows.pendingRequests.enqueue(tx, {
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
