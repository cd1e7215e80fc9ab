import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../model/load-balancer.js';
import type { TaskId } from '../model/task.js';
import { isInProgress, ownRequestId, type BalancerRecords } from './records.js';

/** What is still to be done so that a task gets no traffic any more. */
export type Removal =
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
      return now >= until ? { kind: 'done' } : { kind: 'wait', until };
    }
    case 'INVALID_REQUEST_NOOP':
      return { kind: 'done' };
    default:
      return { kind: 'enqueue', id: ownRequestId(taskId, 'REMOVE', remove, removeAttemptsBefore) };
  }
}

/** An answer that somebody should hear of: the load balancer would not do it. */
export const isRefused = ({ loadBalancerState }: LoadBalancerUpdate): boolean =>
  loadBalancerState === 'FAILED' || loadBalancerState === 'CANCELED' || loadBalancerState === 'INVALID_REQUEST_NOOP';

const neverCameIn = (add: LoadBalancerUpdate): boolean => isRefused(add) || add.loadBalancerState === 'CANCELING';
