import { balancerState } from './balance.js';
import type { Rollout } from './step-types.js';
import { type DeployTask, effectiveRequest, isStaying, newActive, otherActive } from './view.js';
import { healthContext, isWell, judgeTask } from '../health/index.js';
import { getsTraffic, isInLoadBalancer, noRecords } from '../load-balancer/index.js';
import { instancesOf } from '../model/request.js';
import type { TaskId } from '../model/task.js';

/**
 * Old tasks that end now, so that new tasks of the step may start in their places: no more than may be missing, those that failed by
 * themselves counted. Old tasks that serve nobody go first, and take nothing away. One that the load balancer was told of, and has not
 * confirmed, stays until it has. Empty where new tasks start first.
 */
export function oldTasksToEnd(rollout: Rollout): TaskId[] {
  const { view, progress } = rollout;
  const { maxUnavailable: most, targetActiveInstances: target } = progress;
  if (most === undefined) return [];
  const instances = instancesOf(effectiveRequest(view));
  const old = otherActive(view).filter(isStaying);
  const surplus = Math.max(old.length - Math.max(instances - target, 0), 0);
  const available = new Set(old.filter((task) => isOldAvailable(rollout, task)));
  const fresh = newActive(view).filter((task) => isStaying(task) && isNewAvailable(rollout, task));
  const spare = Math.max(available.size + fresh.length - (instances - most), 0);
  const byNumber = old.toSorted(
    (a, b) => a.taskId.instanceNo - b.taskId.instanceNo || a.taskId.startedAt - b.taskId.startedAt,
  );
  const unavailable = byNumber.filter((task) => !mayServe(rollout, task)).slice(0, surplus);
  const ended = byNumber.filter((task) => available.has(task)).slice(0, Math.min(surplus - unavailable.length, spare));
  return [...unavailable, ...ended].map(({ taskId }) => taskId);
}

const isOldAvailable = (rollout: Rollout, task: DeployTask): boolean =>
  isOldWell(rollout, task) && (!isBalanced(rollout) || getsTraffic(task.balancing ?? noRecords));

/** False for an old task that is not healthy, or gets no traffic from the load balancer that there is. */
const mayServe = (rollout: Rollout, task: DeployTask): boolean =>
  isOldWell(rollout, task) && (!isBalanced(rollout) || isInLoadBalancer(task.balancing ?? noRecords));

function isOldWell({ view, now }: Rollout, task: DeployTask): boolean {
  const { activeDeploy, activeDeployId, request, settings } = view;
  if (!activeDeploy || task.taskId.deployId !== activeDeployId) return false;
  return isWell(task, healthContext(activeDeploy, request, false, settings), now);
}

/** The old tasks are behind a load balancer. */
const isBalanced = ({ view }: Rollout): boolean => view.hasLoadBalancer && view.request?.loadBalanced === true;

/** Healthy, and behind the load balancer if there is one. */
function isNewAvailable({ view, context, now }: Rollout, task: DeployTask): boolean {
  if (task.isSick || judgeTask(task, context, now) !== 'HEALTHY') return false;
  if (!effectiveRequest(view)?.loadBalanced) return true;
  const { balance } = view;
  if (!balance || balance.isRevert || balancerState(balance) !== 'SUCCESS') return false;
  return balance.added.some(({ id }) => id === task.taskId.id);
}
