import { checksDecide, explainFailures, healthyAfterRunningMillis, type HealthContext } from '../health/index.js';
import type { Deploy, DeployFailure, DeployProgress } from '../model/deploy.js';
import { unsuccessful } from './outcomes.js';
import type { DeployOutcome, DeployTask, DeployView } from './view.js';

/** The tasks of a step did not become healthy in its time. */
export function overdue(
  view: DeployView,
  { targetActiveInstances }: DeployProgress,
  tasks: readonly DeployTask[],
  context: HealthContext,
  limitMillis: number,
  now: number,
): DeployOutcome {
  const failures: DeployFailure[] = explainFailures(tasks, context, now);
  if (failures.length === 0 && tasks.length < targetActiveInstances) {
    const message = `Only ${tasks.length} of ${targetActiveInstances} tasks could be launched within ${limitMillis / 1000} s`;
    failures.push({ reason: 'TASK_COULD_NOT_BE_SCHEDULED', message });
  }
  const message = `Deploy ${view.marker.deployId} did not become healthy within ${limitMillis / 1000} s`;
  return unsuccessful('OVERDUE', message, failures);
}

/** The next moment at which time alone changes the decision. Results of health checks and new statuses wake by themselves. */
export function nextMoment(
  progress: DeployProgress,
  tasks: readonly DeployTask[],
  context: HealthContext,
  limitMillis: number,
  now: number,
): number {
  const overdueAt = progress.timestamp + limitMillis + 1;
  if (checksDecide(tasks, context)) return overdueAt;
  const proven = tasks.flatMap(({ runningAt }) => (runningAt === undefined ? [] : [provenAt(runningAt, context)]));
  return Math.min(overdueAt, ...proven.filter((at) => at > now));
}

const provenAt = (
  runningAt: number,
  { deploy, settings }: { deploy: Deploy; settings: HealthContext['settings'] },
): number => runningAt + healthyAfterRunningMillis(deploy, settings);
