import { Injectable } from '@nestjs/common';
import type { DeployTask, DeploySnapshot } from '../../core/deploys/index.js';
import { graceMillis, graceRules } from '../../core/launch/index.js';
import type { GateRow } from '../../core/model/gate.js';
import type { Transaction } from '../../platform/database/transaction.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { HealthSwitch } from '../tasks/health/health-switch.service.js';
import { Rows } from '../../rows.js';
import { DeployAcceptance } from './deploy-acceptance.service.js';
import { DeployBalancing } from './deploy-balancing.service.js';
import type { StoredPendingDeploy } from './deploy.repository.js';

/** Gathers what one look at a deploy in progress needs. The request's row is locked in `tx` already. */
@Injectable()
export class DeployViews {
  constructor(
    private readonly rows: Rows,
    private readonly health: HealthSwitch,
    private readonly balancing: DeployBalancing,
    private readonly acceptance: DeployAcceptance,
  ) {}

  async load(
    tx: Transaction,
    pending: StoredPendingDeploy,
    stored: StoredRequest | undefined,
  ): Promise<DeploySnapshot> {
    const found = await this.rows.deploys.find(tx, pending);
    const { requestId, deployId } = pending;
    const settings = await this.health.inForce(tx);
    const activeDeployId = stored?.activeDeployId;
    const endsOldFirst = pending.progress?.maxUnavailable !== undefined && activeDeployId !== undefined;
    const active = endsOldFirst ? await this.rows.deploys.find(tx, { requestId, deployId: activeDeployId }) : undefined;
    return {
      request: stored?.request,
      requestState: stored?.state ?? 'MISSING',
      updatedRequest: pending.updatedRequest,
      marker: found?.marker ?? { requestId, deployId, timestamp: 0 },
      deploy: found?.deploy,
      state: pending.state,
      progress: pending.progress,
      activeDeployId,
      activeDeploy: active?.deploy,
      activeGraceMillis: active && graceMillis(active.deploy, graceRules(settings)),
      cancel: pending.cancel,
      updateTargetInstances: pending.updateTargetInstances,
      balance: pending.balance,
      ending: pending.ending,
      hasLoadBalancer: this.balancing.isEnabled,
      acceptanceChecks: this.acceptance.names(),
      gates: await this.openedGates(tx, pending),
      // Before the tasks: what is launched in between is then counted twice and not missed.
      queuedTasks: await this.rows.pendingTasks.countOfDeploy(tx, requestId, deployId),
      tasks: await this.liveTasks(tx, requestId, endsOldFirst && this.balancing.isEnabled),
      settings,
    };
  }

  /** Only deploys with gates have numbered steps. */
  private async openedGates(tx: Transaction, pending: StoredPendingDeploy): Promise<GateRow[] | undefined> {
    const step = pending.progress?.step;
    return step === undefined ? undefined : this.rows.deployGates.ofStep(tx, pending, step);
  }

  private async liveTasks(tx: Transaction, requestId: string, withTraffic: boolean): Promise<DeployTask[]> {
    const live = await this.rows.tasks.find(tx, { requestIds: [requestId], includeEnded: true });
    const watched = await this.rows.watchedTasks.observe(tx, live);
    const ids = live.map(({ taskId }) => taskId.id);
    const records = withTraffic ? await this.rows.loadBalancerRecords.find(tx, ids) : undefined;
    return watched.map(({ cleanupType, ...task }) => ({
      ...task,
      cleanup: cleanupType,
      balancing: records?.get(task.taskId.id),
    }));
  }
}
