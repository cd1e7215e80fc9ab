import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../model/load-balancer.js';
import type { Request } from '../model/request.js';
import { isInProgress } from './records.js';

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

export type Deletion =
  { kind: 'wait' } | { kind: 'send'; id: LoadBalancerRequestId } | { kind: 'poll'; id: LoadBalancerRequestId };

/** Whether the service of a request goes with it. Who deletes the request has the last word; `byDefault`: when he said nothing. */
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

/** Whether an answer is the last one: the service is gone, or will not go however often it is asked. */
export function endsDeletion({ loadBalancerState, message }: LoadBalancerUpdate): boolean {
  if (loadBalancerState === 'SUCCESS' || loadBalancerState === 'INVALID_REQUEST_NOOP') return true;
  return (loadBalancerState === 'FAILED' || loadBalancerState === 'CANCELED') && message?.includes(hopeless) === true;
}
