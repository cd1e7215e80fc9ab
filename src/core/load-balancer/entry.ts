import { checksDecide, judgeTask, type HealthContext, type ObservedTask } from '../health/index.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../model/load-balancer.js';
import { isInProgress, ownRequestId, type BalancerRecords } from './records.js';
import { isRefused } from './removal.js';

export interface EnteringTask {
  task: ObservedTask;
  context: HealthContext;
  records: BalancerRecords;
  /** It was ordered to go. */
  hasToGo: boolean;
  activeDeployId?: string;
  pendingDeployId?: string;
}

/** What is to be done so that a healthy task gets traffic. */
export type Entry =
  /** It gets its traffic, or must not have any. */
  | { kind: 'settled' }
  /** Not healthy yet, or somebody else is at it: look again later. */
  | { kind: 'wait' }
  /** `anew`: what the load balancer was told before is of no use any more. */
  | { kind: 'enqueue'; id: LoadBalancerRequestId; anew: boolean }
  | { kind: 'poll'; record: 'ADD' | 'REMOVE'; update: LoadBalancerUpdate }
  /** The load balancer will not have it: the task has to go. */
  | { kind: 'refused'; message: string };

/** One look at a task that no deploy in progress brings in: a replacement, or one that was to leave and stays. */
export function decideEntry(entering: EnteringTask, newTaskCheckerBaseDelaySeconds: number, now: number): Entry {
  const { task, records, hasToGo, activeDeployId, pendingDeployId } = entering;
  const { deployId } = task.taskId;
  if (hasToGo || deployId === pendingDeployId) return { kind: 'settled' };
  const { add, remove } = records;
  // The deploy moves its whole set at once, and looks after the answers itself.
  const isOfDeploy = (update: LoadBalancerUpdate | undefined) =>
    pendingDeployId !== undefined && update?.loadBalancerRequestId.requestType === 'DEPLOY';
  if (isOfDeploy(add) || isOfDeploy(remove)) return { kind: 'wait' };
  if (remove) return stays(entering, remove, deployId === activeDeployId);
  if (add && isInProgress(add)) return { kind: 'poll', record: 'ADD', update: add };
  if (add?.loadBalancerState === 'SUCCESS') return { kind: 'settled' };
  if (add && isRefused(add) && add.loadBalancerRequestId.requestType === 'ADD') return refused(add);
  if (!isReady(entering, newTaskCheckerBaseDelaySeconds, now)) return { kind: 'wait' };
  return { kind: 'enqueue', id: ownRequestId(task.taskId, 'ADD', add, records.addAttemptsBefore), anew: false };
}

/** It was to leave, and whoever wanted that has changed his mind: it comes in again once the load balancer is done. */
function stays({ task, records }: EnteringTask, remove: LoadBalancerUpdate, isOfActiveDeploy: boolean): Entry {
  if (!isOfActiveDeploy) return { kind: 'settled' };
  if (isInProgress(remove)) return { kind: 'poll', record: 'REMOVE', update: remove };
  const { add, addAttemptsBefore } = records;
  const attemptsBefore = Math.max(addAttemptsBefore, add?.loadBalancerRequestId.attemptNumber ?? 0);
  return { kind: 'enqueue', id: ownRequestId(task.taskId, 'ADD', undefined, attemptsBefore), anew: true };
}

const refused = ({ loadBalancerState, message }: LoadBalancerUpdate): Entry => ({
  kind: 'refused',
  message: `The load balancer did not take the task: ${loadBalancerState}${message ? `, ${message}` : ''}`,
});

function isReady({ task, context }: EnteringTask, baseDelaySeconds: number, now: number): boolean {
  if (task.runningAt === undefined) return false;
  if (checksDecide([task], context)) return judgeTask(task, context, now) === 'HEALTHY';
  return now >= task.taskId.startedAt + baseDelaySeconds * 1000;
}
