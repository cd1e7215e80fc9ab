import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DeployTask, DeployView } from '../../core/deploys/index.js';
import { rows } from '../../platform/database/sql.js';
import type { StoredRequest } from '../requests/request-store.service.js';
import { HealthSwitch } from '../tasks/health/health-switch.service.js';
import { ObservedTasks } from '../tasks/health/observed-tasks.service.js';
import { LiveTasks } from '../tasks/live-tasks.service.js';
import { DeployAcceptance } from './deploy-acceptance.service.js';
import { DeployBalancing } from './deploy-balancing.service.js';
import { DeployStore, type StoredPendingDeploy } from './deploy-store.service.js';

/** Gathers what one look at a deploy in progress needs. The request's row is locked in `tx` already. */
@Injectable()
export class DeployViews {
  constructor(
    private readonly deploys: DeployStore,
    private readonly tasks: LiveTasks,
    private readonly observed: ObservedTasks,
    private readonly health: HealthSwitch,
    private readonly balancing: DeployBalancing,
    private readonly acceptance: DeployAcceptance,
  ) {}

  async load(tx: EntityManager, pending: StoredPendingDeploy, stored: StoredRequest | undefined): Promise<DeployView> {
    const found = await this.deploys.find(tx, pending);
    const { requestId, deployId } = pending;
    return {
      request: stored?.request,
      requestState: stored?.state ?? 'MISSING',
      updatedRequest: pending.updatedRequest,
      marker: found?.marker ?? { requestId, deployId, timestamp: 0 },
      deploy: found?.deploy,
      state: pending.state,
      progress: pending.progress,
      activeDeployId: stored?.activeDeployId,
      cancel: pending.cancel,
      updateTargetInstances: pending.updateTargetInstances,
      balance: pending.balance,
      ending: pending.ending,
      hasLoadBalancer: this.balancing.isEnabled,
      acceptanceChecks: this.acceptance.names(),
      // Before the tasks: what is launched in between is then counted twice and not missed.
      queuedTasks: await this.queuedTasks(tx, pending),
      tasks: await this.liveTasks(tx, requestId),
      settings: await this.health.inForce(tx),
    };
  }

  private async liveTasks(tx: EntityManager, requestId: string): Promise<DeployTask[]> {
    const live = await this.tasks.find(tx, { requestIds: [requestId], includeEnded: true });
    const watched = await this.observed.observe(tx, live);
    return watched.map(({ cleanupType, ...task }) => ({ ...task, cleanup: cleanupType }));
  }

  private async queuedTasks(tx: EntityManager, { requestId, deployId }: StoredPendingDeploy): Promise<number> {
    const [found] = await rows<{ tasks: number; is_waiting: boolean }>(
      tx,
      `SELECT (SELECT count(*)::int FROM pending_task WHERE request_id = $1 AND deploy_id = $2) AS tasks,
         EXISTS (SELECT 1 FROM pending_request WHERE request_id = $1 AND deploy_id = $2) AS is_waiting`,
      [requestId, deployId],
    );
    // An entry that waits will make as many tasks as are missing, whatever their number.
    return found!.is_waiting ? Number.POSITIVE_INFINITY : found!.tasks;
  }
}
