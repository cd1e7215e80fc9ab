import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Deploy } from '../../core/model/deploy.js';
import { isLongRunning } from '../../core/model/enums.js';
import { isOldFirst, maxUnavailableOf } from '../../core/model/strategy.js';
import { diffFields, planDeploy, type DeployToPlan, type PlannedStep } from '../../core/plan/index.js';
import { DeployRepository } from '../../modules/deploys/deploy.repository.js';
import { DeploysService, type CheckedDeploy, type StartDeploy } from '../../modules/deploys/deploys.service.js';
import { RequestRepository, type StoredRequest } from '../../modules/requests/request.repository.js';
import { HealthSwitch } from '../../modules/tasks/health/health-switch.service.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { DeployPlanDto } from './dto/plan.dto.js';
import { PlanFactsLoader } from './plan-facts.service.js';
import { PlanRoom, type PlannedRequest } from './plan-room.service.js';
import { leastMillisOf, requestChanges, toPlan } from './to-plan.js';

interface DeployFacts {
  stored: StoredRequest;
  checked: CheckedDeploy;
  active?: Deploy;
  planned: DeployToPlan;
}

/** Plans of deploys. Works on every instance, in a transaction that cannot write. */
@Injectable()
export class DeployPlans {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly deploys: DeployRepository,
    private readonly starts: DeploysService,
    private readonly facts: PlanFactsLoader,
    private readonly health: HealthSwitch,
    private readonly room: PlanRoom,
    private readonly clock: Clock,
  ) {}

  async plan(start: StartDeploy): Promise<DeployPlanDto> {
    const now = this.clock.now();
    await this.starts.refuseUsers(start);
    const { stored, checked, active, planned } = await this.db.snapshot((tx) => this.read(tx, start, now));
    const { deploy, request } = checked;
    const steps = await allSteps(planned, now);
    const fits = await this.room.fit(steps, standing(stored, start, checked), deploy, now);
    const changes = [...diffFields(active, deploy, 'deploy'), ...requestChanges(stored, request)];
    const plan = toPlan(stored, changes, steps, fits);
    return {
      ...plan,
      deployId: deploy.id,
      activeDeployId: stored.activeDeployId,
      leastMillis: leastMillisOf(steps),
      ...(isLongRunning(request.requestType) && strategyOf(deploy)),
    };
  }

  private async read(tx: Transaction, start: StartDeploy, now: number): Promise<DeployFacts> {
    const { requestId } = start.deploy;
    const stored = await this.requests.find(tx, requestId);
    if (!stored) throw SchedulerError.requestNotFound(requestId);
    const checked = await this.starts.check(tx, stored, start, now);
    const { activeDeployId } = stored;
    const active =
      activeDeployId === undefined ? undefined : await this.deploys.find(tx, { requestId, deployId: activeDeployId });
    const planned = {
      request: stored.request,
      state: standing(stored, start, checked).state,
      scheduleSince: stored.scheduleSince,
      updatedRequest: start.updatedRequest && checked.request,
      deploy: checked.deploy,
      activeDeployId,
      activeDeploy: active?.deploy,
      ...(await this.facts.load(tx, requestId)),
      settings: await this.health.inForce(tx),
    };
    return { stored, checked, active: active?.deploy, planned };
  }
}

/** Hundreds of steps take a while; other calls do not have to wait for them, and no transaction is open. */
async function allSteps(planned: DeployToPlan, now: number): Promise<PlannedStep[]> {
  const plan = planDeploy(planned, now);
  for (;;) {
    const { done, value } = plan.next();
    if (done) return value;
    await nextTurn();
  }
}

/** As the request stands once the deploy has begun; jobs run their new deploy at once. */
function standing(
  { request, state, activeDeployId }: StoredRequest,
  { unpauseOnSuccessfulDeploy, updatedRequest }: StartDeploy,
  checked: CheckedDeploy,
): PlannedRequest {
  const deployId = checked.deploy.id;
  const begun = state === 'PAUSED' && unpauseOnSuccessfulDeploy ? 'DEPLOYING_TO_UNPAUSE' : state;
  if (!isLongRunning(request.requestType)) return { request: checked.request, state: begun, activeDeployId: deployId };
  const pendingDeploy = { deployId, updatedRequest: updatedRequest && checked.request };
  return { request, state: begun, activeDeployId, pendingDeploy };
}

const strategyOf = (deploy: Deploy): Pick<DeployPlanDto, 'deployStrategy' | 'maxUnavailable'> =>
  isOldFirst(deploy)
    ? { deployStrategy: 'OLD_FIRST', maxUnavailable: maxUnavailableOf(deploy) }
    : { deployStrategy: 'NEW_FIRST' };
