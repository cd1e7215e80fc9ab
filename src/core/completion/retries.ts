import { isLongRunning } from '../model/enums.js';
import type { PendingRequest } from '../model/task.js';
import type { EndedTask, RequestOfTask } from './completion.js';
import type { DeployCounts } from './statistics.js';

/** Runs that were lost with their machine are run again as they were. */
const relaunchReasons: ReadonlySet<string> = new Set([
  'REASON_INVALID_OFFERS',
  'REASON_AGENT_REMOVED',
  'REASON_AGENT_RESTARTED',
  'REASON_AGENT_UNKNOWN',
  'REASON_MASTER_DISCONNECTED',
  'REASON_AGENT_DISCONNECTED',
]);

/** A lost run goes on as it was: with the deploy in progress if that started it, and no earlier than it was to start. */
export function relaunch(task: EndedTask, request: RequestOfTask, now: number): PendingRequest | undefined {
  const isLost = task.state === 'TASK_LOST' && relaunchReasons.has(task.reason ?? '');
  if (!isLost || isLongRunning(request.request.requestType) || wasStoppedOnPurpose(task)) return undefined;
  const { deployId: own } = task.taskId;
  const deployId = own === request.pendingDeployId ? own : request.activeDeployId;
  if (deployId === undefined) return undefined;
  return { ...runAgain(task, deployId, now), runAt: task.pendingTask.pendingTaskId.nextRunAt };
}

/** A run that ended without success is tried again, by the active deploy, as often in a row as the request allows. */
export function retry(
  task: EndedTask,
  { request, activeDeployId }: RequestOfTask,
  { numSequentialRetries }: DeployCounts,
  now: number,
): PendingRequest | undefined {
  const { requestType, numRetriesOnFailure = 0 } = request;
  if (task.state === 'TASK_FINISHED' || activeDeployId === undefined) return undefined;
  if (numSequentialRetries >= numRetriesOnFailure) return undefined;
  // Whoever ran the job out of turn is there to see that it failed; its next turn comes by itself.
  if (requestType === 'SCHEDULED' && task.pendingTask.pendingTaskId.pendingType === 'IMMEDIATE') return undefined;
  if (requestType === 'ON_DEMAND' && wasStoppedOnPurpose(task)) return undefined;
  return runAgain(task, activeDeployId, now);
}

const wasStoppedOnPurpose = ({ cleaningText = '' }: EndedTask): boolean =>
  cleaningText.includes('USER_REQUESTED') || cleaningText.includes('PAUSE');

/** The same run once more, with everything that was asked for it. */
function runAgain({ taskId, pendingTask }: EndedTask, deployId: string, now: number): PendingRequest {
  const { pendingTaskId: _, ...asked } = pendingTask;
  return { ...asked, requestId: taskId.requestId, deployId, timestamp: now, pendingType: 'RETRY' };
}
