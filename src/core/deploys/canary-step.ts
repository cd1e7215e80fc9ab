import type { CanaryDeploySettings } from '../model/deploy.js';
import { acceptance } from './acceptance.js';
import { balanceIdText } from './balance.js';
import { failedTasks } from './failed-tasks.js';
import { launchStep } from './launch-phase.js';
import { oldTasksToRetire } from './old-tasks.js';
import { succeeded, unsuccessful } from './outcomes.js';
import type { CanaryDeployProgress } from './progress.js';
import { aimAt, finish, type CanaryRollout, type DeployStep } from './step.js';
import { endDeploy } from './ending.js';
import { effectiveRequest, instancesOf, isStaying, newActive, otherActive, type DeployView } from './view.js';

/**
 * The canary engine: group by group, or all at once and then one swap in the load balancer. What is launched and healthy
 * has to be accepted before the old tasks go.
 */
export function canaryStep(rollout: CanaryRollout, canary: CanaryDeploySettings): DeployStep {
  const { view, progress, now } = rollout;
  if (progress.stepLaunchComplete) return judgeStep(rollout, canary);
  if (progress.pendingLbUpdate && (!view.balance || balanceIdText(view.balance) !== progress.pendingLbUpdate)) {
    const message = `Nothing is known of load balancer update ${progress.pendingLbUpdate}`;
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
      currentActiveInstances: launched.tasks.length,
      stepComplete: true,
      stepLaunchComplete: true,
      timestamp: now,
    },
    retire: [],
    schedule: [],
    lookAgainAt: now,
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
      return { kind: 'wait', lookAgainAt: verdict.lookAgainAt, scheduleMissing: isMissing(view, progress) };
    case 'check':
      return verdict;
    case 'rejected':
      return endDeploy(view, unsuccessful('FAILED', verdict.message), now);
    case 'accepted':
      return advance(rollout, canary, instances);
  }
}

function advance({ view, progress, now }: CanaryRollout, canary: CanaryDeploySettings, instances: number): DeployStep {
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
const isMissing = (view: DeployView, { targetActiveInstances }: CanaryDeployProgress): boolean =>
  newActive(view).filter(isStaying).length + view.queuedTasks < targetActiveInstances;

/** As many old tasks go as new ones took over; where new ones died since, as many as these can make up for. */
const oldOnesToSpare = (view: DeployView, { targetActiveInstances }: CanaryDeployProgress, instances: number) =>
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
