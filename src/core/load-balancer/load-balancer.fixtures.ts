import type { LoadBalancerRequestType, LoadBalancerState } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import { makeTaskId } from '../task-id.js';
import { noRecords, type BalancerRecords } from './index.js';

/** Epoch milliseconds around which these tests happen. */
export const now = 1_000_000;
export const taskId = makeTaskId({
  requestId: 'web',
  deployId: 'd1',
  startedAt: now - 60_000,
  instanceNo: 1,
  host: 'h',
  rackId: 'r',
});

export const update = (
  loadBalancerState: LoadBalancerState,
  requestType: LoadBalancerRequestType = 'ADD',
  changes: { attemptNumber?: number; timestamp?: number; message?: string; id?: string } = {},
): LoadBalancerUpdate => {
  const {
    attemptNumber = 1,
    timestamp = now,
    message,
    id = requestType === 'DEPLOY' ? 'web-d1-1' : taskId.id,
  } = changes;
  return {
    loadBalancerState,
    loadBalancerRequestId: { id, requestType, attemptNumber },
    timestamp,
    message,
    method: 'ENQUEUE',
  };
};

export const records = (changes: Partial<BalancerRecords> = {}): BalancerRecords => ({ ...noRecords, ...changes });
