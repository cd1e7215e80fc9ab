import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isServiceDeleted } from '../../../core/load-balancer/index.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { DeployStore } from '../../deploys/deploy-store.service.js';
import { LoadBalancerDeletions } from '../../load-balancer/load-balancer-deletions.service.js';
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
    private readonly deploys: DeployStore,
    private readonly services: LoadBalancerDeletions,
    @Inject(SETTINGS) private readonly settings: Settings,
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
    tx: EntityManager,
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
