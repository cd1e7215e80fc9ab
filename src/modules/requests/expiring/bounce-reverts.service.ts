import { Injectable } from '@nestjs/common';
import { PendingRequestRepository } from '../../tasks/pending-request.repository.js';
import { TaskCleanupRepository } from '../../tasks/task-cleanup.repository.js';
import type { LockedRequest } from '../request-actions.service.js';
import { RequestCleanupRepository } from '../request-cleanup.repository.js';
import { RequestRepository } from '../request.repository.js';
import type { ExpiringBounceAction } from './expiring-action.entity.js';
import type { Transaction } from '../../../platform/database/transaction.js';

/** Gives up a bounce that took too long: old tasks that still wait for their replacement stay. For the leader only. */
@Injectable()
export class BounceReverts {
  constructor(
    private readonly requests: RequestRepository,
    private readonly orders: RequestCleanupRepository,
    private readonly queue: PendingRequestRepository,
    private readonly cleanups: TaskCleanupRepository,
  ) {}

  /** New tasks that are then too many fall to the next scale-down of the queue. */
  async undo(
    tx: Transaction,
    action: ExpiringBounceAction,
    { stored, now }: LockedRequest,
    message: string,
  ): Promise<void> {
    const { targetId: requestId, actionId } = action;
    await this.requests.save(tx, { ...stored, bouncing: false, changedAt: now });
    await this.orders.removeBounce(tx, requestId, actionId);
    await this.queue.removeBounce(tx, requestId, actionId);
    await this.cleanups.withdrawBounce(tx, requestId, actionId);
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
