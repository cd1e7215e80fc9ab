import { Injectable } from '@nestjs/common';
import type { DeleteRequestRequest, Request } from '../../../core/model/request.js';
import type { Caller } from '../../../platform/http/caller.js';
import { MailOutboxRepository } from '../../mail/mail-outbox.repository.js';
import { RequestActions } from '../request-actions.service.js';
import { RequestCleanupRepository } from '../request-cleanup.repository.js';
import { RequestHistoryRepository } from '../request-history.repository.js';
import { RequestRepository } from '../request.repository.js';

/** Begins the end of a request: the cleaner kills its tasks and removes it when the last one is gone. */
@Injectable()
export class Deletions {
  constructor(
    private readonly actions: RequestActions,
    private readonly requests: RequestRepository,
    private readonly cleanups: RequestCleanupRepository,
    private readonly history: RequestHistoryRepository,
    private readonly mails: MailOutboxRepository,
  ) {}

  /** From any state. Asking again while it is being deleted answers the same and changes nothing. */
  delete(id: string, options: DeleteRequestRequest, caller: Caller): Promise<Request> {
    return this.actions.perform(id, ['cleanup', 'deploys', 'mails'], async (tx, { stored, now }) => {
      const { message, actionId, deleteFromLoadBalancer } = options;
      const { request } = stored;
      await this.cleanups.create(tx, {
        user: caller.email,
        cleanupType: 'DELETING',
        timestamp: now,
        killTasks: true,
        removeFromLoadBalancer: deleteFromLoadBalancer,
        requestId: id,
        message,
        actionId,
      });
      if (stored.state !== 'DELETING') {
        await this.requests.save(tx, { ...stored, state: 'DELETING', changedAt: now });
        const { email: user } = caller;
        await this.history.record(tx, { createdAt: now, eventType: 'DELETING', user, request, message });
        const facts = { kind: 'removed', message } as const;
        await this.mails.queue(tx, [{ type: 'REQUEST_REMOVED', request, user, at: now, facts }]);
      }
      return request;
    });
  }
}
