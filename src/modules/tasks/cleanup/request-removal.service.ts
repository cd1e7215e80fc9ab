import { Inject, Injectable } from '@nestjs/common';
import { isServiceDeleted } from '../../../core/load-balancer/index.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { DeployRepository } from '../../deploys/deploy.repository.js';
import { LoadBalancerDeletionRepository } from '../../load-balancer/load-balancer-deletion.repository.js';
import { CrashLoopRepository } from '../../requests/crash-loops/crash-loop.repository.js';
import { ExpiringActionRepository } from '../../requests/expiring/expiring-action.repository.js';
import { RequestCleanupRepository } from '../../requests/request-cleanup.repository.js';
import { RequestHistoryRepository } from '../../requests/request-history.repository.js';
import { RequestRepository, type StoredRequest } from '../../requests/request.repository.js';
import { UsageRepository } from '../../usage/usage.repository.js';
import { PendingRequestRepository } from '../pending-request.repository.js';
import { PendingTaskRepository } from '../pending-task.repository.js';

/** The end of a deletion: nothing of the request runs any more. Its history stays. */
@Injectable()
export class RequestRemoval {
  constructor(
    private readonly requests: RequestRepository,
    private readonly history: RequestHistoryRepository,
    private readonly queue: PendingRequestRepository,
    private readonly pending: PendingTaskRepository,
    private readonly cleanups: RequestCleanupRepository,
    private readonly usage: UsageRepository,
    private readonly expiring: ExpiringActionRepository,
    private readonly crashLoops: CrashLoopRepository,
    private readonly deploys: DeployRepository,
    private readonly services: LoadBalancerDeletionRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async remove(
    tx: Transaction,
    requestId: string,
    stored: StoredRequest | undefined,
    cleanup: RequestCleanup,
    now: number,
  ): Promise<void> {
    await this.queue.removeAll(tx, requestId);
    await this.pending.removeAll(tx, requestId);
    // Orders that came later, such as a bounce, have lost their object.
    await this.cleanups.removeAll(tx, requestId);
    await this.usage.removeUtilization(tx, requestId);
    await this.expiring.removeAll(tx, requestId);
    await this.crashLoops.removeAll(tx, requestId);
    if (!stored) return;
    await this.leaveLoadBalancer(tx, stored, cleanup, now);
    await this.requests.remove(tx, requestId);
    await this.history.record(tx, {
      createdAt: now,
      user: cleanup.user,
      eventType: 'DELETED',
      request: stored.request,
      message: cleanup.message,
    });
  }

  /** Without an active deploy it never came that far. */
  private async leaveLoadBalancer(
    tx: Transaction,
    { request, activeDeployId }: StoredRequest,
    { removeFromLoadBalancer }: RequestCleanup,
    now: number,
  ): Promise<void> {
    if (!activeDeployId) return;
    const byDefault = this.settings.deleteRemovedRequestsFromLoadBalancer;
    if (!isServiceDeleted(request, removeFromLoadBalancer, byDefault)) return;
    const requestId = request.id;
    const deploy = (await this.deploys.find(tx, { requestId, deployId: activeDeployId }))?.deploy;
    const { loadBalancerGroups: groups = [], serviceBasePath: basePath } = deploy ?? {};
    await this.services.add(tx, { requestId, groups, basePath }, now);
  }
}
