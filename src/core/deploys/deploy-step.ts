import {
  checksDecide,
  explainFailures,
  healthyAfterRunningMillis,
  judgeTasks,
  type HealthContext,
} from '../health/index.js';
import type { Deploy, DeployFailure, DeployProgress } from '../model/deploy.js';
import { isLongRunning, isRunnable } from '../model/enums.js';
import type { TaskId } from '../model/task.js';
import { judgeFailures } from './failed-tasks.js';
import { canceled, succeeded, unsuccessful } from './outcomes.js';
import { withTarget } from './progress.js';
import { stepTimeLimitMillis } from './time-limit.js';
import {
  effectiveRequest,
  instancesOf,
  isStaying,
  newActive,
  otherActive,
  type DeployOutcome,
  type DeployTask,
  type DeployView,
} from './view.js';

/** What one look at a deploy in progress leads to. */
export type DeployStep =
  /** Nothing changes before something happens, or before lookAgainAt (epoch milliseconds). */
  | { kind: 'wait'; lookAgainAt?: number; scheduleMissing: boolean }
  /** The deploy goes on with another progress: the old tasks in `retire` may go, tasks of `schedule` deploys are counted anew. */
  | { kind: 'proceed'; progress: DeployProgress; retire: TaskId[]; schedule: ScheduledDeploy[]; lookAgainAt?: number }
  /** The deploy is over. closeChecks: no further health check result of its tasks is of interest. */
  | { kind: 'finish'; outcome: DeployOutcome; closeChecks: boolean };

/** OLD: the deploy that serves until now, whose tasks come back when the target is lowered. */
export type ScheduledDeploy = 'NEW' | 'OLD';

const finish = (outcome: DeployOutcome, closeChecks = false): DeployStep => ({ kind: 'finish', outcome, closeChecks });

/** The classic engine: step by step, each as many tasks as the deploy says, each waiting until its tasks are healthy. */
export function nextDeployStep(seen: DeployView, now: number): DeployStep {
  // What is listed of tasks, such as their failures, stands in the same order whatever order the rows came in.
  const view = { ...seen, tasks: seen.tasks.toSorted((a, b) => (a.taskId.id < b.taskId.id ? -1 : 1)) };
  const request = effectiveRequest(view);
  if (!request || !mayDeploy(view)) {
    return finish(unsuccessful('FAILED', `Request is in state ${view.requestState}, which ends the deploy`));
  }
  if (!isLongRunning(request.requestType))
    return finish(succeeded(`Tasks of ${request.requestType} requests are not rolled out`));
  if (view.requestState === 'PAUSED')
    return finish(succeeded('Request is paused, its tasks start when it is unpaused'));
  const { deploy, progress } = view;
  if (!deploy) return finish(unsuccessful('FAILED_INTERNAL_STATE', 'The data of the deploy is missing'));
  if (!progress) return finish(unsuccessful('FAILED', 'The progress of the deploy is missing'));

  const context: HealthContext = {
    deploy,
    deployPending: true,
    requestSkips: request.skipHealthchecks === true,
    settings: view.settings,
  };
  const failures = judgeFailures(view, context, now);
  if (failures.kind === 'fail') return finish(failures.outcome);
  if (view.cancel) return finish(canceled(view));
  if (failures.kind === 'retry') return retry(progress, failures.failed, now);
  if (progress.stepComplete) return advance(view, progress, now);
  return awaitStep(view, progress, context, now);
}

/** The state of the request lets a deploy go on. */
export const mayDeploy = ({ requestState, settings }: DeployView): boolean =>
  requestState !== 'MISSING' &&
  (isRunnable(requestState) ||
    requestState === 'FINISHED' ||
    (requestState === 'PAUSED' && settings.allowDeployOfPausedRequests));

const retry = (progress: DeployProgress, failed: readonly DeployTask[], now: number): DeployStep => ({
  kind: 'proceed',
  progress: { ...progress, failedDeployTasks: failed.map((task) => task.taskId), timestamp: now },
  retire: [],
  schedule: ['NEW'],
});

const aimAt = (progress: DeployProgress, target: number, now: number): DeployStep => ({
  kind: 'proceed',
  progress: withTarget(progress, target, now),
  retire: [],
  schedule: target < progress.targetActiveInstances ? ['NEW', 'OLD'] : ['NEW'],
});

/** The step is complete: the next one begins after its wait, or when somebody names a target. */
function advance(view: DeployView, progress: DeployProgress, now: number): DeployStep {
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

/** The step's tasks are starting: are there enough of them, and are they healthy? */
function awaitStep(view: DeployView, progress: DeployProgress, context: HealthContext, now: number): DeployStep {
  const tasks = newActive(view).filter(isStaying);
  const isFull = tasks.length >= progress.targetActiveInstances;
  const verdict = isFull ? judgeTasks(tasks, context, now) : 'WAITING';
  if (verdict === 'UNHEALTHY') {
    const message = 'Not all tasks of the deploy became healthy';
    return finish(unsuccessful('FAILED', message, explainFailures(tasks, context, now)), true);
  }
  const asked = askedTarget(view, progress);
  if (asked !== undefined) return aimAt(progress, asked, now);
  if (verdict === 'HEALTHY') return completeStep(view, progress, tasks, now);

  const limit = stepTimeLimitMillis(context.deploy, view.settings);
  if (now - progress.timestamp > limit) return finish(overdue(view, progress, tasks, context, limit, now));
  return {
    kind: 'wait',
    lookAgainAt: nextMoment(progress, tasks, context, limit, now),
    scheduleMissing: tasks.length + view.queuedTasks < progress.targetActiveInstances,
  };
}

/** A target somebody asked for that differs from the one in force. */
function askedTarget(view: DeployView, progress: DeployProgress): number | undefined {
  if (view.updateTargetInstances === undefined) return undefined;
  const asked = Math.min(view.updateTargetInstances, instancesOf(effectiveRequest(view)));
  return asked === progress.targetActiveInstances ? undefined : asked;
}

/** The step's tasks are healthy: as many old ones may go as the request can spare now. */
function completeStep(
  view: DeployView,
  progress: DeployProgress,
  tasks: readonly DeployTask[],
  now: number,
): DeployStep {
  const request = effectiveRequest(view)!;
  if (request.loadBalanced) {
    const message = 'Request is load balanced, but no load balancer is configured';
    return finish(unsuccessful('FAILED', message, [{ reason: 'LOAD_BALANCER_UPDATE_FAILED', message }]), true);
  }
  const instances = instancesOf(request);
  if (progress.targetActiveInstances >= instances) return finish(succeeded());
  const mayGoOnAfter = now + progress.deployStepWaitTimeMs;
  return {
    kind: 'proceed',
    progress: { ...progress, currentActiveInstances: tasks.length, stepComplete: true, timestamp: now },
    retire: oldTasksToRetire(view, instances - progress.targetActiveInstances),
    schedule: [],
    lookAgainAt: progress.autoAdvanceDeploySteps ? mayGoOnAfter + 1 : undefined,
  };
}

/** All old tasks but `keep`; those that have to go anyway first, then by instance number. */
function oldTasksToRetire(view: DeployView, keep: number): TaskId[] {
  const old = otherActive(view).sort(
    (a, b) =>
      Number(isStaying(a)) - Number(isStaying(b)) ||
      a.taskId.instanceNo - b.taskId.instanceNo ||
      a.taskId.startedAt - b.taskId.startedAt,
  );
  return old.slice(0, Math.max(old.length - keep, 0)).map((task) => task.taskId);
}

function overdue(
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
function nextMoment(
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
