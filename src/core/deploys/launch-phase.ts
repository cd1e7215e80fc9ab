import { balancerState, callAgainAt, type DeployBalance, newBalance, takenOut } from './balance.js';
import { endDeploy } from './ending.js';
import { oldTasksToEnd } from './old-first.js';
import { aimAt, type DeployStep, type Rollout, stepTimeLimitMillis } from './step-types.js';
import {
  type DeployTask,
  type DeploySnapshot,
  effectiveRequest,
  isStaying,
  newActive,
  oldTasksStaying,
  unsuccessful,
} from './view.js';
import { type DeployOutcome, without } from './outcome.js';
import {
  checksDecide,
  explainFailures,
  type HealthContext,
  healthyAfterRunningMillis,
  judgeTasks,
} from '../health/index.js';
import type { Deploy, DeployFailure, DeployProgress } from '../model/deploy.js';
import type { DeployState } from '../model/enums.js';
import { instancesOf } from '../model/request.js';
import type { TaskId } from '../model/task.js';

/** An engine's names for its changes of the load balancer, and the old tasks that a step takes out of it. */
interface BalanceOptions {
  id: string;
  removed: TaskId[];
}

/** The tasks of the step are healthy, and the load balancer sends them work. removed: old tasks that it took out. */
interface LaunchedStep {
  kind: 'launched';
  tasks: DeployTask[];
  removed?: TaskId[];
}

/** The part of a step that both engines share: enough new tasks, all healthy, and in the load balancer. */
export function launchStep(rollout: Rollout, balancing: () => BalanceOptions): DeployStep | LaunchedStep {
  const { view, progress, context, now } = rollout;
  const balance = balanceOfStep(view, progress.targetActiveInstances);
  if (balance && balancerState(balance) !== 'SUCCESS') return awaitLoadBalancer(rollout, balance);

  const tasks = newActive(view).filter(isStaying);
  const isFull = tasks.length >= progress.targetActiveInstances;
  // Tasks that the load balancer was given were healthy then, and what it did is done.
  const isServing = balance !== undefined && isFull && covers(balance, tasks);
  const verdict = isServing ? 'HEALTHY' : isFull ? judgeTasks(tasks, context, now) : 'WAITING';
  if (verdict === 'UNHEALTHY') {
    const message = 'Not all tasks of the deploy became healthy';
    const outcome = unsuccessful('FAILED', message, explainFailures(tasks, context, now));
    return endDeploy(view, outcome, now, true);
  }
  const asked = askedTarget(view, progress.targetActiveInstances);
  if (asked !== undefined) return aimAt(progress, asked, now);
  if (verdict === 'HEALTHY') {
    if (!effectiveRequest(view)?.loadBalanced) return { kind: 'launched', tasks };
    if (isServing) return { kind: 'launched', tasks, removed: takenOut(balance) };
    return enqueue(rollout, tasks, balancing());
  }
  const retire = isFull ? [] : oldTasksToEnd(rollout);
  if (retire.length > 0)
    return { kind: 'proceed', progress: { ...progress, timestamp: now }, retire, schedule: ['NEW'] };
  // Tasks that start in the places of old ones have to wait for the end of these.
  const waitsForEnds = progress.maxUnavailable === undefined ? 0 : (view.activeGraceMillis ?? 0);
  const limit = stepTimeLimitMillis(context.deploy, view.settings) + waitsForEnds;
  if (now - progress.timestamp > limit) {
    return endDeploy(view, overdue(view, progress, tasks, context, limit, now), now);
  }
  return {
    kind: 'wait',
    checkAgainAt: nextMoment(progress, tasks, context, limit, now),
    scheduleMissing: tasks.length + view.queuedTasks < progress.targetActiveInstances,
  };
}

/** The change of the load balancer in the step that aims at `target`. */
function balanceOfStep({ balance }: DeploySnapshot, target: number): DeployBalance | undefined {
  return balance && !balance.isRevert && balance.targetActiveInstances === target ? balance : undefined;
}

/** All these tasks were handed over: none was started in the place of another meanwhile. */
function covers({ added }: DeployBalance, tasks: readonly DeployTask[]): boolean {
  const known = new Set(added.map(({ id }) => id));
  return tasks.every((task) => known.has(task.taskId.id));
}

/** A target an operator asked for that differs from the one in force. */
function askedTarget(view: DeploySnapshot, target: number): number | undefined {
  if (view.updateTargetInstances === undefined) return undefined;
  const asked = Math.min(view.updateTargetInstances, instancesOf(effectiveRequest(view)));
  return asked === target ? undefined : asked;
}

/** The new tasks enter and old ones leave in one change. Old ones that left with a higher target and stay come back. */
function enqueue(
  { view, progress, now }: Rollout,
  tasks: readonly DeployTask[],
  { id, removed }: BalanceOptions,
): DeployStep {
  if (!view.hasLoadBalancer) {
    const message = 'Request is load balanced, but no load balancer is configured';
    const failure = { reason: 'LOAD_BALANCER_UPDATE_FAILED' as const, message };
    return endDeploy(view, unsuccessful('FAILED', message, [failure]), now, true);
  }
  const putBack = without(oldTasksStaying(view, view.balance ? takenOut(view.balance) : []), removed);
  const wish = {
    id,
    added: [...tasks.map((task) => task.taskId), ...putBack],
    removed,
    targetActiveInstances: progress.targetActiveInstances,
    isRevert: false,
  };
  return {
    kind: 'balance',
    call: 'ENQUEUE',
    balance: newBalance(wish, view.balance, now),
    putBack,
    state: 'WAITING',
    // The load balancer has the time of a step of its own.
    progress: { ...progress, timestamp: now },
  };
}

/** The load balancer has not done what the step needs, not yet or not at all. */
function awaitLoadBalancer({ view, progress, context, now }: Rollout, balance: DeployBalance): DeployStep {
  const state = balancerState(balance);
  const limit = stepTimeLimitMillis(context.deploy, view.settings);
  const late = now - progress.timestamp;
  if (state === 'FAILED' || state === 'INVALID_REQUEST_NOOP')
    return endDeploy(view, refused('FAILED', balance), now, true);
  if (state === 'CANCELED') return endDeploy(view, refused('CANCELED', balance), now, true);
  // It had its time, and the same time again to let go of the change.
  if (late > 2 * limit) return endDeploy(view, refused('OVERDUE', balance), now, true);
  const again = callAgainAt(balance);
  const deployState: DeployState = state === 'CANCELING' ? 'CANCELING' : view.state;
  if (now < again) {
    return { kind: 'wait', checkAgainAt: again, scheduleMissing: false, state: deployState, keepsUpdate: true };
  }
  const about = { kind: 'balance' as const, balance, putBack: [] };
  if (late > limit && state !== 'CANCELING') return { ...about, call: 'CANCEL', state: 'CANCELING' };
  // What it may not have heard is said again; the id makes that safe.
  return { ...about, call: state === 'UNKNOWN' ? 'ENQUEUE' : 'STATE', state: deployState };
}

function refused(deployState: 'FAILED' | 'CANCELED' | 'OVERDUE', balance: DeployBalance): DeployOutcome {
  const said = balance.update.message ? `: ${balance.update.message}` : '';
  const message = `Load balancer update is ${balancerState(balance)}${said}`;
  return unsuccessful(deployState, message, [{ reason: 'LOAD_BALANCER_UPDATE_FAILED', message }]);
}

/** The tasks of a step did not become healthy in its time. */
function overdue(
  view: DeploySnapshot,
  { targetActiveInstances }: DeployProgress,
  tasks: readonly DeployTask[],
  context: HealthContext,
  limitMillis: number,
  now: number,
): DeployOutcome {
  const failures: DeployFailure[] = explainFailures(tasks, context, now);
  if (tasks.length < targetActiveInstances) {
    const launched = `Only ${tasks.length} of ${targetActiveInstances} tasks could be launched`;
    const message = `${launched} within ${limitMillis / 1000} s${missingInstances(tasks, targetActiveInstances)}`;
    failures.push({ reason: 'TASK_COULD_NOT_BE_SCHEDULED', message });
  }
  const message = `Deploy ${view.marker.deployId} did not become healthy within ${limitMillis / 1000} s`;
  return unsuccessful('OVERDUE', message, failures);
}

const mostNamed = 5;

/** Names the instances without a task, when others have one. */
function missingInstances(tasks: readonly DeployTask[], target: number): string {
  if (tasks.length === 0) return '';
  const used = new Set(tasks.map(({ taskId }) => taskId.instanceNo));
  const missing = Array.from({ length: target }, (_, index) => index + 1).filter((number) => !used.has(number));
  const more = missing.length > mostNamed ? ` and ${missing.length - mostNamed} more` : '';
  return `; missing: instance ${missing.slice(0, mostNamed).join(', ')}${more}`;
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
