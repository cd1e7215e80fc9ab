import type { PendingType, RequestType, TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { makePendingTaskId, makeTaskId } from '../task-id.js';
import type { EndedTask, RequestOfTask } from './index.js';

/** Epoch milliseconds; tasks of these tests end now. */
export const now = 1_800_000_000_000;

export interface EndedOptions extends Partial<Omit<EndedTask, 'taskId'>> {
  pendingType?: PendingType;
  deployId?: string;
  instanceNo?: number;
  startedAt?: number;
  nextRunAt?: number;
}

/** A task of request 'svc', deploy 'd1', that was wanted 11 s and started 10 s ago. */
export function endedTask(state: TaskState, options: EndedOptions = {}): EndedTask {
  const { pendingType = 'ONEOFF', deployId = 'd1', instanceNo = 1, startedAt = now - 10_000, ...own } = options;
  const { nextRunAt = now - 11_000, pendingTask, ...rest } = own;
  const parts = { requestId: 'svc', deployId, instanceNo };
  const pendingTaskId = makePendingTaskId({ ...parts, nextRunAt, pendingType, createdAt: now - 12_000 });
  return {
    taskId: makeTaskId({ ...parts, startedAt, host: 'h', rackId: 'r' }),
    state,
    endedAt: now,
    ...rest,
    pendingTask: { ...pendingTask, pendingTaskId },
  };
}

/** ACTIVE, and 'd1' is its active deploy. */
export function requestOf(
  requestType: RequestType,
  own: Partial<Request> & Partial<Omit<RequestOfTask, 'request'>> = {},
): RequestOfTask {
  const { state = 'ACTIVE', activeDeployId = 'd1', pendingDeployId, ...rest } = own;
  return { request: { id: 'svc', requestType, ...rest }, state, activeDeployId, pendingDeployId };
}
