import { Injectable } from '@nestjs/common';
import type { User } from '../../../core/authorization/index.js';
import { isLongRunning } from '../../../core/model/enums.js';
import type { DeleteRequestRequest, Request } from '../../../core/model/request.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Rows } from '../../../rows.js';
import { Access } from '../../auth/access/access.service.js';
import { RequestActions } from '../request-actions.service.js';

/** Begins the end of a request: the cleaner kills its tasks and removes it when the last one is gone. */
@Injectable()
export class Deletions {
  constructor(
    private readonly actions: RequestActions,
    private readonly rows: Rows,
    private readonly access: Access,
  ) {}

  /** From any state. Asking again while it is being deleted answers the same, and may only hasten it. */
  delete(id: string, options: DeleteRequestRequest, caller: User): Promise<Request> {
    return this.actions.perform(id, ['cleanup', 'deploys', 'mails'], async (tx, { stored, now }) => {
      const { message, actionId, deleteFromLoadBalancer, force, waitForTasks } = options;
      const { request } = stored;
      refuseManner(request, options);
      if (stored.state !== 'DELETING' && !force) await this.refuseWithFollowers(tx, request, caller);
      const isFirst = await this.rows.requestCleanups.create(tx, {
        user: caller.email,
        cleanupType: 'DELETING',
        timestamp: now,
        killTasks: true,
        removeFromLoadBalancer: deleteFromLoadBalancer,
        requestId: id,
        message,
        actionId,
        force,
        waitForTasks,
      });
      if (!isFirst) await this.rows.requestCleanups.hastenDeletion(tx, id, { force, waitForTasks });
      if (stored.state !== 'DELETING') {
        await this.rows.requests.save(tx, { ...stored, state: 'DELETING', changedAt: now });
        const { email: user } = caller;
        await this.rows.requestHistory.record(tx, { createdAt: now, eventType: 'DELETING', user, request, message });
        const facts = { kind: 'removed', message } as const;
        await this.rows.mailOutbox.queue(tx, [{ type: 'REQUEST_REMOVED', request, user, at: now, facts }]);
      }
      return request;
    });
  }

  /** Nobody begins to follow it until the commit. */
  private async refuseWithFollowers(tx: Transaction, { id, requestType }: Request, caller: User): Promise<void> {
    await this.rows.flowGraph.lock(tx);
    const followers = await this.rows.flowGraph.followerIds(tx, id);
    if (followers.length === 0) return;
    const { readable } = await this.access.sort(caller, followers, tx);
    const named = followers.map((follower) => (readable(follower) ? `'${follower}'` : '(another)')).join(', ');
    const message = isLongRunning(requestType)
      ? `Request '${id}' is named in startAfter of ${named}: their first starts would no longer wait for it`
      : `Request '${id}' is followed by ${named}: their runs would never come`;
    throw new SchedulerError('REQUEST_HAS_FOLLOWERS', message);
  }
}

/** Refuses options that cannot be honoured. */
function refuseManner({ id, requestType }: Request, { force, waitForTasks }: DeleteRequestRequest): void {
  if (!waitForTasks) return;
  const problem = force
    ? 'waitForTasks cannot be given with force'
    : isLongRunning(requestType)
      ? `waitForTasks is for requests whose tasks end by themselves; '${id}' is a ${requestType}`
      : undefined;
  if (problem === undefined) return;
  const error = { field: 'waitForTasks', rule: 'consistent', message: problem };
  throw SchedulerError.invalid('INVALID_REQUEST', [error]);
}
