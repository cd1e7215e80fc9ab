import { Inject, Injectable } from '@nestjs/common';
import { isServiceDeleted } from '../../../core/load-balancer/index.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import type { StoredRequest } from '../../requests/request.repository.js';

/** The end of a deletion: nothing of the request runs any more. Its history stays. */
@Injectable()
export class RequestRemoval {
  constructor(
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async remove(
    tx: Transaction,
    requestId: string,
    stored: StoredRequest | undefined,
    cleanup: RequestCleanup,
    now: number,
  ): Promise<void> {
    await this.rows.pendingRequests.removeAll(tx, requestId);
    await this.rows.pendingTasks.removeAll(tx, requestId);
    await this.rows.flowRuns.giveUp(tx, [requestId], now);
    // Orders that came later, such as a bounce, have lost their object.
    await this.rows.requestCleanups.removeAll(tx, requestId);
    await this.rows.usage.removeUtilization(tx, requestId);
    await this.rows.expiringActions.removeAll(tx, requestId);
    await this.rows.autoscales.remove(tx, requestId);
    await this.rows.crashLoops.removeAll(tx, requestId);
    await this.rows.runBackfills.removeAll(tx, requestId);
    await this.rows.taskLiveness.removeWaves(tx, requestId);
    await this.rows.instanceFailures.removeAll(tx, requestId);
    if (!stored) return;
    await this.leaveLoadBalancer(tx, stored, cleanup, now);
    await this.rows.requests.remove(tx, requestId);
    await this.rows.requestHistory.record(tx, {
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
    const deploy = (await this.rows.deploys.find(tx, { requestId, deployId: activeDeployId }))?.deploy;
    const { loadBalancerGroups: groups = [], serviceBasePath: basePath } = deploy ?? {};
    await this.rows.loadBalancerDeletions.add(tx, { requestId, groups, basePath }, now);
  }
}
