import { Injectable } from '@nestjs/common';
import { isLongRunning } from '../../../core/model/enums.js';
import type { DeleteRequestRequest, Request } from '../../../core/model/request.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { Rows } from '../../../rows.js';
import { RequestActions } from '../request-actions.service.js';

/** Begins the end of a request: the cleaner kills its tasks and removes it when the last one is gone. */
@Injectable()
export class Deletions {
  constructor(
    private readonly actions: RequestActions,
    private readonly rows: Rows,
  ) {}

  /** From any state. Asking again while it is being deleted answers the same, and may only hasten it. */
  delete(id: string, options: DeleteRequestRequest, caller: Caller): Promise<Request> {
    return this.actions.perform(id, ['cleanup', 'deploys', 'mails'], async (tx, { stored, now }) => {
      const { message, actionId, deleteFromLoadBalancer, force, waitForTasks } = options;
      const { request } = stored;
      refuseManner(request, options);
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
