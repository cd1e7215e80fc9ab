import type { Deploy, DeployProgress } from '../model/deploy.js';
import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { instancesOf } from './view.js';

/** Tasks of SERVICE and WORKER roll out step by step; the others have no progress. */
export function firstProgress(
  request: Request,
  deploy: Deploy,
  settings: { defaultDeployStepWaitTimeMs: number },
  now: number,
): DeployProgress | undefined {
  if (!isLongRunning(request.requestType)) return undefined;
  const instances = instancesOf(request);
  const perStep = deploy.deployInstanceCountPerStep ?? instances;
  return {
    targetActiveInstances: Math.min(perStep, instances),
    currentActiveInstances: 0,
    deployInstanceCountPerStep: perStep,
    deployStepWaitTimeMs: deploy.deployStepWaitTimeMs ?? settings.defaultDeployStepWaitTimeMs,
    stepComplete: false,
    autoAdvanceDeploySteps: deploy.autoAdvanceDeploySteps ?? true,
    failedDeployTasks: [],
    timestamp: now,
  };
}

/** Rolled out in more than one step. A step that is larger than the request is all of it at once. */
export const isIncremental = (progress: DeployProgress | undefined, instances: number): boolean =>
  progress !== undefined && progress.deployInstanceCountPerStep < instances;

/** A new aim for the same or the next step; the time limit starts anew. */
export const withTarget = (progress: DeployProgress, target: number, now: number): DeployProgress => ({
  ...progress,
  targetActiveInstances: target,
  stepComplete: false,
  timestamp: now,
});
