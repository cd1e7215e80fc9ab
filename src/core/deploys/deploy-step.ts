import { acceptance } from './acceptance.js';
import { endDeploy } from './ending.js';
import { failedTasks, judgeFailures } from './failed-tasks.js';
import { passGates } from './gate-phase.js';
import { launchStep } from './launch-phase.js';
import { type CanaryDeployProgress, isCanaryEngine } from './progress.js';
import { aimAt, type CanaryRollout, type DeployStep, finish, type Rollout } from './step-types.js';
import {
  canceled,
  type DeployTask,
  type DeploySnapshot,
  effectiveRequest,
  isStaying,
  mayDeploy,
  newActive,
  oldTasksToRetire,
  otherActive,
  succeeded,
  unsuccessful,
} from './view.js';
import { healthContext } from '../health/index.js';
import { requestIdText } from '../load-balancer/index.js';
import type { CanaryDeploySettings } from '../model/deploy.js';
import { isLongRunning } from '../model/enums.js';
import { instancesOf } from '../model/request.js';

/** Decides the next step of a deploy in progress. The order of the rules is the policy. */
export function nextDeployStep(seen: DeploySnapshot, now: number): DeployStep {
  // What is listed of tasks, such as their failures, stands in the same order whatever order the rows came in.
  const view = { ...seen, tasks: seen.tasks.toSorted((a, b) => (a.taskId.id < b.taskId.id ? -1 : 1)) };
  if (view.ending) return endDeploy(view, view.ending.outcome, now);
  const request = effectiveRequest(view);
  if (!request || !mayDeploy(view)) {
    return endDeploy(
      view,
      unsuccessful('FAILED', `Request is in state ${view.requestState}, which ends the deploy`),
      now,
    );
  }
  const { deploy, progress } = view;
  // Who uses canary settings may stop a deploy whatever has become of its tasks.
  const isCanary = progress !== undefined && isCanaryEngine(progress);
  if (isCanary && view.cancel) return endDeploy(view, canceled(view), now);
  if (!isLongRunning(request.requestType))
    return finish(succeeded(`Tasks of ${request.requestType} requests are not rolled out`));
  if (view.requestState === 'PAUSED')
    return finish(succeeded('Request is paused, its tasks start when it is unpaused'));
  if (!deploy) return finish(unsuccessful('FAILED_INTERNAL_STATE', 'The data of the deploy is missing'));
  if (!progress) return finish(unsuccessful('FAILED', 'The progress of the deploy is missing'));

  const context = healthContext(deploy, request, true, view.settings);
  return rollOut({ view, progress, context, now });
}

function rollOut(rollout: Rollout): DeployStep {
  const { view, progress, context, now } = rollout;
  const { canaryDeploySettings: canary } = context.deploy;
  const failures = judgeFailures(view, context, now);
  if (failures.kind === 'fail') return endDeploy(view, failures.outcome, now);
  if (view.cancel) return endDeploy(view, canceled(view), now);
  if (canary && isCanaryEngine(progress)) return canaryStep({ ...rollout, progress }, canary);
  return failures.kind === 'retry' ? retry(rollout, failures.failed) : classicStep(rollout);
}

const retry = ({ progress, now }: Rollout, failed: readonly DeployTask[]): DeployStep => ({
  kind: 'proceed',
  progress: { ...progress, failedDeployTasks: failed.map((task) => task.taskId), timestamp: now },
  retire: [],
  schedule: ['NEW'],
});

/** The classic engine: step by step, each as many tasks as the deploy says, each waiting until its tasks are healthy. */
function classicStep(rollout: Rollout): DeployStep {
  const { view, progress, now } = rollout;
  if (progress.stepComplete) return advanceClassic(rollout);
  const instances = instancesOf(effectiveRequest(view));
  const { requestId, deployId } = view.marker;
  const retire = () => oldTasksToRetire(view, instances - progress.targetActiveInstances);
  const launched = launchStep(rollout, () => ({
    id: `${requestId}-${deployId}-${progress.targetActiveInstances}`,
    removed: retire(),
  }));
  if (launched.kind !== 'launched') return launched;
  if (progress.targetActiveInstances >= instances) return finish(succeeded());
  const mayGoOnAfter = now + progress.deployStepWaitTimeMs;
  return {
    kind: 'proceed',
    progress: { ...progress, currentActiveInstances: launched.tasks.length, stepComplete: true, timestamp: now },
    // Those that get no more work have to go; of others as many as the request can spare now.
    retire: launched.removed ?? retire(),
    schedule: [],
    checkAgainAt: progress.autoAdvanceDeploySteps ? mayGoOnAfter + 1 : undefined,
  };
}

/** The step is complete: the next one begins after its wait, or when an operator names a target. */
function advanceClassic({ view, progress, now }: Rollout): DeployStep {
  const instances = instancesOf(effectiveRequest(view));
  const asked = view.updateTargetInstances;
  const mayGoOnAfter = progress.timestamp + progress.deployStepWaitTimeMs;
  if (asked === undefined && !(progress.autoAdvanceDeploySteps && now > mayGoOnAfter)) {
    const checkAgainAt = progress.autoAdvanceDeploySteps ? mayGoOnAfter + 1 : undefined;
    return { kind: 'wait', checkAgainAt, scheduleMissing: false };
  }
  const next = asked ?? progress.targetActiveInstances + progress.deployInstanceCountPerStep;
  return aimAt(progress, Math.min(next, instances), now);
}

/**
 * The canary engine: group by group, or all at once and then one swap in the load balancer. What is launched and healthy
 * has to be accepted before the old tasks go.
 */
function canaryStep(rollout: CanaryRollout, canary: CanaryDeploySettings): DeployStep {
  const { view, progress, now } = rollout;
  if (progress.stepLaunchComplete) return judgeStep(rollout, canary);
  if (progress.pendingLbUpdate && !view.balance) {
    const message = `Nothing is known of load balancer update ${requestIdText(progress.pendingLbUpdate.loadBalancerRequestId)}`;
    return finish(unsuccessful('FAILED_INTERNAL_STATE', message));
  }
  const { requestId, deployId } = view.marker;
  const launched = launchStep(rollout, () => ({
    id: `${requestId}-${deployId}-${progress.targetActiveInstances}-${now}`,
    // In groups old and new tasks serve side by side; the old ones leave one by one, when they go.
    removed: progress.canary ? [] : otherActive(view).map((task) => task.taskId),
  }));
  if (launched.kind !== 'launched') return launched;
  return {
    kind: 'proceed',
    progress: {
      ...progress,
      // Until its gates have passed a step takes nothing over: a queue that is looked at meanwhile keeps all old tasks.
      ...(!canary.gates && { currentActiveInstances: launched.tasks.length, stepComplete: true }),
      stepLaunchComplete: true,
      timestamp: now,
    },
    retire: [],
    schedule: [],
    checkAgainAt: now,
  };
}

/** The step is launched: a completed one is never overdue, however long it takes to be accepted. */
function judgeStep(rollout: CanaryRollout, canary: CanaryDeploySettings): DeployStep {
  const { view, progress, now } = rollout;
  const instances = instancesOf(effectiveRequest(view));
  const asked = view.updateTargetInstances;
  if (asked !== undefined) return aimAt(progress, Math.min(asked, instances), now);
  const verdict = acceptance(progress, canary, view.acceptanceChecks, now);
  switch (verdict.kind) {
    case 'wait':
      return { kind: 'wait', checkAgainAt: verdict.checkAgainAt, scheduleMissing: lacksTasks(view, progress) };
    case 'check':
      return verdict;
    case 'rejected':
      return endDeploy(view, unsuccessful('FAILED', verdict.message), now);
    case 'accepted':
      return passGates(rollout, canary.gates) ?? advanceCanary(rollout, canary, instances);
  }
}

function advanceCanary(
  { view, progress, now }: CanaryRollout,
  canary: CanaryDeploySettings,
  instances: number,
): DeployStep {
  const active = newActive(view).filter(isStaying).length;
  if (active >= instances) return finish(succeeded());
  const target = nextTarget(progress, canary, instances);
  const next = aimAt(progress, target, now);
  return {
    ...next,
    progress: {
      ...next.progress,
      currentActiveInstances: active,
      // The next group has an allowance of its own.
      failedDeployTasks: failedTasks(view).map((task) => task.taskId),
    },
    retire: progress.canary ? oldOnesToSpare(view, progress, instances) : [],
  };
}

/** One of the forgiven failures is to be made up for. */
const lacksTasks = (view: DeploySnapshot, { targetActiveInstances }: CanaryDeployProgress): boolean =>
  newActive(view).filter(isStaying).length + view.queuedTasks < targetActiveInstances;

/** As many old tasks go as new ones took over; where new ones died since, as many as these can make up for. */
const oldOnesToSpare = (view: DeploySnapshot, { targetActiveInstances }: CanaryDeployProgress, instances: number) =>
  oldTasksToRetire(view, instances - Math.min(targetActiveInstances, newActive(view).filter(isStaying).length));

/** Group after group, until enough of them went well: then everything that is left. */
function nextTarget(
  { canary: inGroups, targetActiveInstances: target }: CanaryDeployProgress,
  { instanceGroupSize, canaryCycleCount }: CanaryDeploySettings,
  instances: number,
): number {
  if (!inGroups || Math.floor(target / instanceGroupSize) >= canaryCycleCount) return instances;
  return Math.min(target + instanceGroupSize, instances);
}
