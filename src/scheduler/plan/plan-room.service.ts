import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Deploy } from '../../core/model/deploy.js';
import { fitSteps, type FittingScene, type PlannedStep, type StepFit } from '../../core/plan/index.js';
import { SchedulerError } from '../../platform/errors.js';
import { ExplainLoader } from '../explain/explain-loader.service.js';

/** State of the request when the plan is carried out. */
export type PlannedRequest = Omit<FittingScene['request'], 'utilization' | 'givenUp'>;

/** Looks for room for planned tasks on the machines as they are now, on any instance. */
@Injectable()
export class PlanRoom {
  constructor(private readonly loader: ExplainLoader) {}

  /** `deploy`: one that is not stored yet. */
  async fit(
    steps: readonly PlannedStep[],
    standing: PlannedRequest,
    deploy: Deploy | undefined,
    now: number,
  ): Promise<StepFit[]> {
    const requestId = standing.request.id;
    const { loaded, snapshot, rules } = await this.loader.load(requestId);
    const found = snapshot.requests.get(requestId);
    if (!found) throw SchedulerError.requestNotFound(requestId);
    const deploys = new Map(snapshot.deploys);
    if (deploy) deploys.set(`${requestId}-${deploy.id}`, { deploy });
    const request = { ...standing, utilization: found.utilization, givenUp: found.givenUp };
    const scene = { request, tasks: loaded.tasks, deploys, machines: snapshot.machines };
    const fits: StepFit[] = [];
    for (const fit of fitSteps(steps, scene, rules, now)) {
      fits.push(fit);
      await nextTurn();
    }
    return fits;
  }
}
