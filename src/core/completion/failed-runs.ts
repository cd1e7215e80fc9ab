import { isLongRunning, isRunnable } from '../model/enums.js';
import { isBesideSchedule } from '../pending-work/index.js';
import { isUndelivered, type EndedTask, type RequestOfTask } from './ended-task.js';

/** Number of runs in a row that failed, and what becomes of the request for it. */
export interface FailedRuns {
  failedRuns: number;
  /** As many have failed as it wants to be paused after. */
  pauses: boolean;
}

/**
 * The number after the end of a task. A run has failed when its last try has; what is tried again, or goes on elsewhere, has
 * not, and a run that had to go, or is for a time of the past, says nothing. The pause begins a new count, so that one failure after it is one.
 */
export function failedRunsAfter(
  task: EndedTask,
  { request, state, activeDeployId }: RequestOfTask,
  runsAgain: boolean,
  former: number,
): FailedRuns {
  const same = { failedRuns: former, pauses: false };
  if (isLongRunning(request.requestType) || runsAgain || isBesideSchedule(task.pendingTask.pendingTaskId)) return same;
  if (task.state === 'TASK_FINISHED') return { failedRuns: 0, pauses: false };
  // Runs that go on through a pause are not why the next one would begin.
  if (!isRunnable(state) || !isFailure(task)) return same;
  const failedRuns = former + 1;
  const pauses =
    task.taskId.deployId === activeDeployId && failedRuns >= (request.pauseAfterFailures ?? Number.POSITIVE_INFINITY);
  return { failedRuns: pauses ? 0 : failedRuns, pauses };
}

/** A run whose machine is away may still run, and one that was told to go was not left to its end. */
const isFailure = (task: EndedTask): boolean =>
  task.state !== 'TASK_UNREACHABLE' &&
  !isUndelivered(task) &&
  (!task.hadToGo || task.cleanupType === 'TASK_EXCEEDED_TIME_LIMIT');
