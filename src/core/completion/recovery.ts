import { isInProgress } from '../load-balancer/index.js';
import { isAlwaysRunning, isRunnable } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import type { PendingRequest, TaskId } from '../model/task.js';
import type { RequestOfTask } from './completion.js';

/** A task that was given up and is alive. Its row is still live: what has moved to the history never comes back. */
export interface RecoveredTask {
  taskId: TaskId;
  /** It had been told to go before it was given up. */
  hadToGo: boolean;
  /** Entries of its history, the end among them. */
  updates: number;
  /** What the load balancer said last about its removal, when that had begun. */
  removal?: LoadBalancerUpdate;
}

export type RefusedBecause =
  'REQUEST_GONE' | 'REQUEST_NOT_RUNNABLE' | 'DEPLOY_NOT_ACTIVE' | 'HAD_TO_GO' | 'NO_STATUS_BEFORE_ITS_END';

export interface Recovery {
  /** Why it cannot go on; absent: it goes on as if nothing had happened. Otherwise it is killed. */
  killedBecause?: RefusedBecause;
  /** It goes on, but the load balancer is just letting go of it: it has to go as soon as it is replaced. */
  hasToGo: boolean;
  /** Its place was perhaps taken meanwhile: the request's tasks are counted again. */
  enqueue?: PendingRequest;
}

/** What becomes of a task that was thought dead. `request` undefined: it was deleted meanwhile. */
export function decideRecovery(task: RecoveredTask, request: RequestOfTask | undefined, now: number): Recovery {
  const killedBecause = whyNot(task, request);
  const hasToGo = killedBecause === undefined && task.removal !== undefined && isInProgress(task.removal);
  if (!request) return { killedBecause, hasToGo };
  // A job that nobody repeats would start once more when it is counted while its task is being killed.
  const isCounted = killedBecause === undefined || isAlwaysRunning(request.request.requestType);
  const { requestId, deployId } = task.taskId;
  const entry: PendingRequest = { requestId, deployId, timestamp: now, pendingType: 'TASK_RECOVERED' };
  return { killedBecause, hasToGo, enqueue: isCounted ? entry : undefined };
}

function whyNot(task: RecoveredTask, request: RequestOfTask | undefined): RefusedBecause | undefined {
  if (!request) return 'REQUEST_GONE';
  if (!isRunnable(request.state)) return 'REQUEST_NOT_RUNNABLE';
  if (request.activeDeployId !== task.taskId.deployId) return 'DEPLOY_NOT_ACTIVE';
  if (task.hadToGo) return 'HAD_TO_GO';
  return task.updates < 2 ? 'NO_STATUS_BEFORE_ITS_END' : undefined;
}
