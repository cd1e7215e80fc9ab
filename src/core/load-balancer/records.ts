import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../model/load-balancer.js';
import type { TaskId } from '../model/task.js';

/** Changes of the load balancer for a task, and their states. */
export interface BalancerRecords {
  /** It was to come in: by itself, or with its deploy. */
  add?: LoadBalancerUpdate;
  /** It was to go. */
  remove?: LoadBalancerUpdate;
  /** Highest attempt numbers of records that were forgotten. */
  addAttemptsBefore: number;
  removeAttemptsBefore: number;
}

export const noRecords: BalancerRecords = { addAttemptsBefore: 0, removeAttemptsBefore: 0 };

/** The load balancer may send traffic to it: it was told that the task comes, and not yet that it goes. */
export const isInLoadBalancer = ({ add, remove }: BalancerRecords): boolean =>
  add !== undefined && remove === undefined;

/** The load balancer sends traffic to it: it said so, and was not told since that the task goes. */
export const getsTraffic = (records: BalancerRecords): boolean =>
  isInLoadBalancer(records) && records.add?.loadBalancerState === 'SUCCESS';

/** The load balancer works on it: its answer is asked for again, nothing is sent. */
export const isInProgress = ({ loadBalancerState }: LoadBalancerUpdate): boolean =>
  loadBalancerState === 'WAITING' || loadBalancerState === 'CANCELING';

/** Stored before a change is sent: if the leader dies before the answer, its successor knows that the change may have been sent. */
export const preEnqueued = (loadBalancerRequestId: LoadBalancerRequestId, now: number): LoadBalancerUpdate => ({
  loadBalancerState: 'UNKNOWN',
  loadBalancerRequestId,
  timestamp: now,
  method: 'PRE_ENQUEUE',
});

/**
 * The id under which a task comes in or goes by itself. After an answer that settled it against us the next attempt;
 * else the same id once more, which asks for the same change and not for another one.
 */
export function ownRequestId(
  { id }: TaskId,
  requestType: 'ADD' | 'REMOVE',
  former: LoadBalancerUpdate | undefined,
  attemptsBefore: number,
): LoadBalancerRequestId {
  const fresh = { id, requestType, attemptNumber: attemptsBefore + 1 };
  if (!former) return fresh;
  const { loadBalancerRequestId: last, loadBalancerState } = former;
  if (loadBalancerState === 'FAILED' || loadBalancerState === 'CANCELED') {
    return { ...fresh, attemptNumber: Math.max(last.attemptNumber, attemptsBefore) + 1 };
  }
  return last.id === id && last.requestType === requestType ? last : fresh;
}

/** The id as the load balancer knows it. */
export const requestIdText = ({ id, requestType, attemptNumber }: LoadBalancerRequestId): string =>
  `${id}-${requestType}-${attemptNumber}`;
