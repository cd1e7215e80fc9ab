import { hasPassed } from '../elapsed.js';
import { checksDecide, countsSince, type HealthContext, judgeTask, type ObservedTask } from '../health/index.js';
import { type BalancerRecords, isInProgress, ownRequestId } from './records.js';
import { isMainOver } from '../model/enums.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../model/load-balancer.js';
import type { Request } from '../model/request.js';
import type { TaskId } from '../model/task.js';

export interface EnteringTask {
  task: ObservedTask;
  context: HealthContext;
  records: BalancerRecords;
  /** It was ordered to go. */
  hasToGo: boolean;
  activeDeployId?: string;
  pendingDeployId?: string;
}

/** Next step to give a healthy task traffic. */
export type TrafficStep =
  /** It gets its traffic, or must not have any. */
  | { kind: 'settled' }
  /** The task is not healthy yet, or another decision is under way: look again later. */
  | { kind: 'wait' }
  /** `anew`: what the load balancer was told before no longer holds. */
  | { kind: 'enqueue'; id: LoadBalancerRequestId; anew: boolean }
  | { kind: 'poll'; record: 'ADD' | 'REMOVE'; update: LoadBalancerUpdate }
  /** The load balancer will not have it: the task has to go. */
  | { kind: 'refused'; message: string };

/** One look at a task that no deploy in progress brings in: a replacement, or one that was to leave and stays. */
export function decideEntry(entering: EnteringTask, newTaskCheckerBaseDelaySeconds: number, now: number): TrafficStep {
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

/** It was to leave, and that order was withdrawn: it comes in again once the load balancer is done. */
function stays({ task, records }: EnteringTask, remove: LoadBalancerUpdate, isOfActiveDeploy: boolean): TrafficStep {
  if (!isOfActiveDeploy) return { kind: 'settled' };
  if (isInProgress(remove)) return { kind: 'poll', record: 'REMOVE', update: remove };
  const { add, addAttemptsBefore } = records;
  const attemptsBefore = Math.max(addAttemptsBefore, add?.loadBalancerRequestId.attemptNumber ?? 0);
  return { kind: 'enqueue', id: ownRequestId(task.taskId, 'ADD', undefined, attemptsBefore), anew: true };
}

const refused = ({ loadBalancerState, message }: LoadBalancerUpdate): TrafficStep => ({
  kind: 'refused',
  message: `The load balancer did not take the task: ${loadBalancerState}${message ? `, ${message}` : ''}`,
});

function isReady({ task, context }: EnteringTask, baseDelaySeconds: number, now: number): boolean {
  if (task.runningAt === undefined || isMainOver(task.state)) return false;
  if (checksDecide([task], context)) return judgeTask(task, context, now) === 'HEALTHY';
  return now >= countsSince(task) + baseDelaySeconds * 1000;
}

/** Next step to take a task out of traffic. */
type Removal =
  /** It never came in, or it has left: it may be killed, or forgotten. */
  | { kind: 'done' }
  | { kind: 'enqueue'; id: LoadBalancerRequestId }
  | { kind: 'poll'; id: LoadBalancerRequestId }
  /** It has left; what was on its way to it gets until then (epoch milliseconds) to end. */
  | { kind: 'wait'; until: number };

/** One look at a task that has to leave the load balancer. */
export function decideRemoval(
  taskId: TaskId,
  { add, remove, removeAttemptsBefore }: BalancerRecords,
  gracePeriodMillis: number,
  now: number,
): Removal {
  if (!add || neverCameIn(add)) return { kind: 'done' };
  if (!remove) return { kind: 'enqueue', id: ownRequestId(taskId, 'REMOVE', remove, removeAttemptsBefore) };
  if (isInProgress(remove)) return { kind: 'poll', id: remove.loadBalancerRequestId };
  switch (remove.loadBalancerState) {
    case 'SUCCESS': {
      const until = remove.timestamp + gracePeriodMillis;
      return hasPassed(remove.timestamp, gracePeriodMillis, now) ? { kind: 'done' } : { kind: 'wait', until };
    }
    case 'INVALID_REQUEST_NOOP':
      return { kind: 'done' };
    default:
      return { kind: 'enqueue', id: ownRequestId(taskId, 'REMOVE', remove, removeAttemptsBefore) };
  }
}

/** An answer that operators should hear of: the load balancer refused. */
export const isRefused = ({ loadBalancerState }: LoadBalancerUpdate): boolean =>
  loadBalancerState === 'FAILED' || loadBalancerState === 'CANCELED' || loadBalancerState === 'INVALID_REQUEST_NOOP';

const neverCameIn = (add: LoadBalancerUpdate): boolean => isRefused(add) || add.loadBalancerState === 'CANCELING';

/** The service of a request that is gone. */
export interface DeletionView {
  requestId: string;
  /** Answer to the last attempt. */
  update?: LoadBalancerUpdate;
  /** A request of this id runs (again). */
  isRunnable: boolean;
  /** Tasks of it are active, or have not left yet. */
  hasTasks: boolean;
}

type Deletion =
  { kind: 'wait' } | { kind: 'send'; id: LoadBalancerRequestId } | { kind: 'poll'; id: LoadBalancerRequestId };

/**
 * True when the service of a request is deleted with it. The call that deletes the request decides; `byDefault`: when
 * it says nothing.
 */
export const isServiceDeleted = (
  { loadBalanced }: Request,
  removeFromLoadBalancer: boolean | undefined,
  byDefault: boolean,
): boolean => loadBalanced === true && (removeFromLoadBalancer ?? byDefault);

/** One look at a service that has to go. */
export function decideDeletion({ requestId, update, isRunnable, hasTasks }: DeletionView, now: number): Deletion {
  if (isRunnable || hasTasks) return { kind: 'wait' };
  const first: LoadBalancerRequestId = { id: `${requestId}-${now}`, requestType: 'DELETE', attemptNumber: 1 };
  if (!update) return { kind: 'send', id: first };
  const last = update.loadBalancerRequestId;
  if (isInProgress(update)) return { kind: 'poll', id: last };
  // It may have been carried out: under the same id the load balancer can tell.
  if (update.loadBalancerState === 'UNKNOWN') return { kind: 'send', id: last };
  return { kind: 'send', id: { ...first, attemptNumber: last.attemptNumber + 1 } };
}

/** The load balancer will never do what it calls invalid. */
const hopeless = 'Invalid request due to';

/** True when an answer is the last one: the service is gone, or will not go however often it is asked. */
export function endsDeletion({ loadBalancerState, message }: LoadBalancerUpdate): boolean {
  if (loadBalancerState === 'SUCCESS' || loadBalancerState === 'INVALID_REQUEST_NOOP') return true;
  return (loadBalancerState === 'FAILED' || loadBalancerState === 'CANCELED') && message?.includes(hopeless) === true;
}
