import { explainFailures, judgeTasks } from '../health/index.js';
import type { TaskId } from '../model/task.js';
import { awaitLoadBalancer } from './await-balancer.js';
import { balancerState, newBalance, takenOut, type DeployBalance } from './balance.js';
import { endDeploy } from './ending.js';
import { oldTasksStaying, without } from './old-tasks.js';
import { unsuccessful } from './outcomes.js';
import { nextMoment, overdue } from './overdue.js';
import { aimAt, type DeployStep, type Rollout } from './step.js';
import { stepTimeLimitMillis } from './time-limit.js';
import { effectiveRequest, instancesOf, isStaying, newActive, type DeployTask, type DeployView } from './view.js';

/** How an engine names its changes of the load balancer, and which old tasks a step takes out of it. */
export interface Balancing {
  id: string;
  removed: TaskId[];
}

/** The tasks of the step are healthy, and the load balancer sends them work. removed: old tasks that it took out. */
export interface Launched {
  kind: 'launched';
  tasks: DeployTask[];
  removed?: TaskId[];
}

/** The part of a step that both engines share: enough new tasks, all healthy, and in the load balancer. */
export function launchStep(rollout: Rollout, balancing: () => Balancing): DeployStep | Launched {
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
  const limit = stepTimeLimitMillis(context.deploy, view.settings);
  if (now - progress.timestamp > limit) {
    return endDeploy(view, overdue(view, progress, tasks, context, limit, now), now);
  }
  return {
    kind: 'wait',
    lookAgainAt: nextMoment(progress, tasks, context, limit, now),
    scheduleMissing: tasks.length + view.queuedTasks < progress.targetActiveInstances,
  };
}

/** What the load balancer was asked for in the step that aims at `target`. */
function balanceOfStep({ balance }: DeployView, target: number): DeployBalance | undefined {
  return balance && !balance.isRevert && balance.targetActiveInstances === target ? balance : undefined;
}

/** All these tasks were handed over: none was started in the place of another meanwhile. */
function covers({ added }: DeployBalance, tasks: readonly DeployTask[]): boolean {
  const known = new Set(added.map(({ id }) => id));
  return tasks.every((task) => known.has(task.taskId.id));
}

/** A target somebody asked for that differs from the one in force. */
function askedTarget(view: DeployView, target: number): number | undefined {
  if (view.updateTargetInstances === undefined) return undefined;
  const asked = Math.min(view.updateTargetInstances, instancesOf(effectiveRequest(view)));
  return asked === target ? undefined : asked;
}

/** The new tasks enter and old ones leave in one change. Old ones that left with a higher target and stay come back. */
function enqueue(
  { view, progress, now }: Rollout,
  tasks: readonly DeployTask[],
  { id, removed }: Balancing,
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
