import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestCleanup } from '../../../core/model/request.js';
import { CrashLoopStore } from '../../requests/crash-loops/crash-loop-store.service.js';
import { ExpiringActions } from '../../requests/expiring/expiring-actions.service.js';
import { RequestHistoryService } from '../../requests/request-history.service.js';
import { RequestStore, type StoredRequest } from '../../requests/request-store.service.js';

/** The end of a deletion: nothing of the request runs any more. Its history stays. */
@Injectable()
export class RequestRemoval {
  constructor(
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly expiring: ExpiringActions,
    private readonly crashLoops: CrashLoopStore,
  ) {}

  async remove(
    tx: EntityManager,
    requestId: string,
    stored: StoredRequest | undefined,
    cleanup: RequestCleanup,
    now: number,
  ): Promise<void> {
    await tx.query('DELETE FROM pending_request WHERE request_id = $1', [requestId]);
    await tx.query('DELETE FROM pending_task WHERE request_id = $1', [requestId]);
    // Orders that came later, such as a bounce, have lost their object.
    await tx.query('DELETE FROM request_cleanup WHERE request_id = $1', [requestId]);
    await tx.query('DELETE FROM request_utilization WHERE request_id = $1', [requestId]);
    await this.expiring.removeAll(tx, requestId);
    await this.crashLoops.removeAll(tx, requestId);
    if (!stored) return;
    await this.requests.remove(tx, requestId);
    await this.history.record(tx, {
      createdAt: now,
      user: cleanup.user,
      eventType: 'DELETED',
      request: stored.request,
      message: cleanup.message,
    });
  }
}
