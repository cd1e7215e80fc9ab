import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isCanaryEngine, newActive, newEnded, otherActive, withResults } from '../../core/deploys/index.js';
import type { AcceptanceResult, DeployView } from '../../core/deploys/index.js';
import { AcceptanceChecks, type StepToAccept } from './acceptance/acceptance-checks.service.js';
import { DeployStore, toPendingDeploy, type StoredPendingDeploy } from './deploy-store.service.js';

/** Checks that are to be run for a step of a deploy. */
export interface AcceptanceJob {
  names: string[];
  step: StepToAccept;
  /** Of the progress: another one by now means another step. */
  timestamp: number;
}

/** Runs the checks that accept a step of a canary deploy, outside any transaction, and keeps what they say. */
@Injectable()
export class DeployAcceptance {
  constructor(
    private readonly checks: AcceptanceChecks,
    private readonly deploys: DeployStore,
  ) {}

  names(): string[] {
    return this.checks.names();
  }

  prepare(pending: StoredPendingDeploy, view: DeployView, names: string[]): AcceptanceJob {
    const step: StepToAccept = {
      request: (view.updatedRequest ?? view.request)!,
      deploy: view.deploy!,
      pendingDeploy: toPendingDeploy(pending, view.marker),
      newTasks: newActive(view),
      endedNewTasks: newEnded(view),
      otherTasks: otherActive(view),
    };
    return { names, step, timestamp: view.progress!.timestamp };
  }

  run({ names, step }: AcceptanceJob): Promise<AcceptanceResult[]> {
    return this.checks.run(names, step);
  }

  /** false: the deploy is not at this step any more. The request's row is locked in `tx`. */
  async store(
    tx: EntityManager,
    requestId: string,
    job: AcceptanceJob,
    results: readonly AcceptanceResult[],
    now: number,
  ): Promise<boolean> {
    const [pending] = await this.deploys.findPending(tx, [requestId]);
    const progress = pending?.progress;
    const isSame = pending?.deployId === job.step.deploy.id && progress?.timestamp === job.timestamp;
    if (!isSame || !progress || !isCanaryEngine(progress) || !progress.stepLaunchComplete) return false;
    await this.deploys.savePending(tx, { ...pending, progress: withResults(progress, results, now) });
    return true;
  }
}
