import { Injectable } from '@nestjs/common';
import type { ScaleRequest } from '../../core/model/request.js';
import { scalePlanText } from '../../core/autoscale/index.js';
import { planScale, type PlannedStep } from '../../core/plan/index.js';
import { stateAfterUpdate } from '../../core/requests/changes.js';
import { DeployRepository } from '../../modules/deploys/deploy.repository.js';
import { Scaling, type CheckedScale } from '../../modules/requests/actions/scaling.service.js';
import { RequestActions } from '../../modules/requests/request-actions.service.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { ScalePlanDto } from './dto/plan.dto.js';
import { PlanFactsLoader } from './plan-facts.service.js';
import { PlanRoom, type PlannedRequest } from './plan-room.service.js';
import { requestChanges, toPlan } from './to-plan.js';

interface ScaleFacts {
  stored: StoredRequest;
  checked: CheckedScale;
  standing: PlannedRequest;
  step: PlannedStep;
}

/** Plans of scales. Works on every instance, in a transaction that cannot write. */
@Injectable()
export class ScalePlans {
  constructor(
    private readonly db: Database,
    private readonly actions: RequestActions,
    private readonly deploys: DeployRepository,
    private readonly scaling: Scaling,
    private readonly facts: PlanFactsLoader,
    private readonly room: PlanRoom,
    private readonly clock: Clock,
  ) {}

  async plan(id: string, scale: ScaleRequest, acknowledged: boolean): Promise<ScalePlanDto> {
    const now = this.clock.now();
    const { stored, checked, standing, step } = await this.db.snapshot((tx) =>
      this.read(tx, id, scale, acknowledged, now),
    );
    const { next, from, to } = checked;
    const fits = await this.room.fit([step], standing, undefined, now);
    const autoscale = next.autoscale && scalePlanText(next.autoscale, scale.durationMillis !== undefined);
    return { ...toPlan(stored, requestChanges(stored, next), [step], fits), from, to, ...(autoscale && { autoscale }) };
  }

  private async read(
    tx: Transaction,
    id: string,
    scale: ScaleRequest,
    acknowledged: boolean,
    now: number,
  ): Promise<ScaleFacts> {
    const seen = await this.actions.find(tx, id);
    if (!seen) throw SchedulerError.requestNotFound(id);
    const { stored } = seen;
    const checked = await this.scaling.plan(tx, seen, scale, acknowledged);
    const { next, bounce } = checked;
    const [pendingDeploy] = await this.deploys.findPending(tx, [id]);
    const { request, state, activeDeployId } = stored;
    const waiting = { request, state, activeDeployId, pendingDeploy };
    const { tasks, rules } = await this.facts.load(tx, id);
    // Whether it still fails fast is seen when the queue is looked at; a plan takes it that it does.
    const failingFast = state === 'SYSTEM_COOLDOWN';
    const step = planScale({ waiting, next, bounce, tasks, failingFast, rules }, now);
    const standing = { ...waiting, request: next, state: stateAfterUpdate(state, true) };
    return { stored, checked, standing, step };
  }
}
