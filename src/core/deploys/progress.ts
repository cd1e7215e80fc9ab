import type { CanaryProgress, Deploy, DeployProgress } from '../model/deploy.js';
import { isLongRunning } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import { isOldFirst, maxUnavailableOf } from '../model/strategy.js';

/** Progress of a deploy with canaryDeploySettings. */
export type CanaryDeployProgress = DeployProgress & CanaryProgress;

/** The deploy is moved by the canary engine; without its settings the classic one does. */
export const isCanaryEngine = (progress: DeployProgress): progress is CanaryDeployProgress =>
  progress.canary !== undefined;

/** Tasks of SERVICE and WORKER roll out step by step; jobs have no progress, unless canary settings ask for one. */
export function firstProgress(
  request: Request,
  deploy: Deploy,
  settings: { defaultDeployStepWaitTimeMs: number },
  now: number,
): DeployProgress | undefined {
  const oldFirst = isOldFirst(deploy) ? { maxUnavailable: maxUnavailableOf(deploy) } : {};
  if (deploy.canaryDeploySettings)
    return { ...firstCanaryProgress(request, deploy.canaryDeploySettings, now), ...oldFirst };
  if (!isLongRunning(request.requestType)) return undefined;
  const instances = instancesOf(request);
  const perStep = deploy.deployInstanceCountPerStep ?? oldFirst.maxUnavailable ?? instances;
  return {
    targetActiveInstances: Math.min(perStep, instances),
    currentActiveInstances: 0,
    deployInstanceCountPerStep: perStep,
    deployStepWaitTimeMs: deploy.deployStepWaitTimeMs ?? settings.defaultDeployStepWaitTimeMs,
    stepComplete: false,
    autoAdvanceDeploySteps: deploy.autoAdvanceDeploySteps ?? true,
    failedDeployTasks: [],
    timestamp: now,
    ...oldFirst,
  };
}

/** Progress of the deploy of a job, which has no steps: it starts with its deploy, so nothing is left to launch. */
export const progressOfJob = (startedAt: number): CanaryDeployProgress => ({
  targetActiveInstances: 1,
  currentActiveInstances: 1,
  deployInstanceCountPerStep: 1,
  deployStepWaitTimeMs: 0,
  stepComplete: true,
  autoAdvanceDeploySteps: true,
  failedDeployTasks: [],
  timestamp: startedAt,
  canary: false,
  stepLaunchComplete: true,
  stepAcceptanceResults: {},
  acceptanceResultMessageHistory: [],
  lbUpdates: {},
});

/** A job starts with its deploy, so nothing of it is left to launch. */
function firstCanaryProgress(
  request: Request,
  canary: NonNullable<Deploy['canaryDeploySettings']>,
  now: number,
): CanaryDeployProgress {
  const launched = !isLongRunning(request.requestType);
  const instances = launched ? 1 : instancesOf(request);
  const perStep = canary.enableCanaryDeploy ? canary.instanceGroupSize : instances;
  return {
    targetActiveInstances: Math.min(perStep, instances),
    currentActiveInstances: launched ? 1 : 0,
    deployInstanceCountPerStep: perStep,
    deployStepWaitTimeMs: canary.waitMillisBetweenGroups,
    stepComplete: launched,
    autoAdvanceDeploySteps: true,
    failedDeployTasks: [],
    timestamp: now,
    canary: canary.enableCanaryDeploy,
    stepLaunchComplete: launched,
    stepAcceptanceResults: {},
    acceptanceResultMessageHistory: [],
    lbUpdates: {},
    ...(canary.gates && { step: 1 }),
  };
}

/**
 * Old tasks may be gone already when it ends: it is rolled out in more than one step, or ends them first. A step that is larger
 * than the request is all of it at once, unless an operator lowered its target.
 */
export function isIncremental(progress: DeployProgress | undefined, instances: number): boolean {
  if (!progress) return false;
  if (progress.maxUnavailable !== undefined) return true;
  if (isCanaryEngine(progress)) return progress.canary;
  return progress.deployInstanceCountPerStep < instances || progress.currentActiveInstances > 0;
}

/** A new aim for the same or the next step; the time limit starts anew. */
export function withTarget(progress: DeployProgress, target: number, now: number): DeployProgress {
  const aimed = { ...progress, targetActiveInstances: target, stepComplete: false, timestamp: now };
  if (!isCanaryEngine(aimed)) return aimed;
  return {
    ...aimed,
    // What the old deploy has handed over; with a lower target it takes some of that back.
    currentActiveInstances: Math.min(aimed.currentActiveInstances, target),
    stepLaunchComplete: false,
    stepAcceptanceResults: {},
    ...(aimed.step !== undefined && { step: aimed.step + 1 }),
  };
}
