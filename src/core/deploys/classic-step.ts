import { launchStep } from './launch-phase.js';
import { oldTasksToRetire } from './old-tasks.js';
import { succeeded } from './outcomes.js';
import { aimAt, finish, type DeployStep, type Rollout } from './step.js';
import { effectiveRequest, instancesOf } from './view.js';

/** The classic engine: step by step, each as many tasks as the deploy says, each waiting until its tasks are healthy. */
export function classicStep(rollout: Rollout): DeployStep {
  const { view, progress, now } = rollout;
  if (progress.stepComplete) return advance(rollout);
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
    lookAgainAt: progress.autoAdvanceDeploySteps ? mayGoOnAfter + 1 : undefined,
  };
}

/** The step is complete: the next one begins after its wait, or when somebody names a target. */
function advance({ view, progress, now }: Rollout): DeployStep {
  const instances = instancesOf(effectiveRequest(view));
  const asked = view.updateTargetInstances;
  const mayGoOnAfter = progress.timestamp + progress.deployStepWaitTimeMs;
  if (asked === undefined && !(progress.autoAdvanceDeploySteps && now > mayGoOnAfter)) {
    const lookAgainAt = progress.autoAdvanceDeploySteps ? mayGoOnAfter + 1 : undefined;
    return { kind: 'wait', lookAgainAt, scheduleMissing: false };
  }
  const next = asked ?? progress.targetActiveInstances + progress.deployInstanceCountPerStep;
  return aimAt(progress, Math.min(next, instances), now);
}
