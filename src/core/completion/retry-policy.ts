import type { TaskState } from '../model/enums.js';
import type { Request, RetryPolicy } from '../model/request.js';
import { backOffMillis } from '../back-off.js';
import { textHash } from '../text-hash.js';
import type { EndedTask } from './ended-task.js';

/** The policy of a request for tries after the first, given in its short form or at length. */
export const retryPolicyOf = ({
  retry,
  numRetriesOnFailure = 0,
}: Pick<Request, 'retry' | 'numRetriesOnFailure'>): RetryPolicy => retry ?? { attempts: numRetriesOnFailure };

/** True for an end without success after which the policy lets the run be tried again. */
export function allowsRetry(
  { onExitCodes, notOnExitCodes = [], onTimeLimit = true, onLost = true }: RetryPolicy,
  { state, cleanupType, exitCode }: Pick<EndedTask, 'state' | 'cleanupType' | 'exitCode'>,
): boolean {
  if (isLost(state)) return onLost;
  if (cleanupType === 'TASK_EXCEEDED_TIME_LIMIT') return onTimeLimit;
  // Killed for what is no fault of the program, such as the decommission of its machine.
  if (state !== 'TASK_FAILED') return true;
  // A program that could not start, or used too much, has no exit code: that is none of the codes.
  if (exitCode === undefined) return onExitCodes === undefined;
  return (onExitCodes?.includes(exitCode) ?? true) && !notOnExitCodes.includes(exitCode);
}

const seenEnds: ReadonlySet<TaskState> = new Set<TaskState>([
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_ERROR',
]);

/** Nobody saw how it ended, and it may be half done. */
const isLost = (state: TaskState): boolean => !seenEnds.has(state);

/** The longest pause between two tries: 30 days. */
export const longestRetryDelayMillis = 30 * 24 * 3_600_000;

/**
 * Pause before try `retries` + 1 after the first. Its random part goes by the task that ended, so that whoever decides again comes to the
 * same time.
 */
export function retryDelayMillis(policy: RetryPolicy, retries: number, endedTaskId: string): number {
  const { delayMillis = 0, backoffFactor = 1, maxDelayMillis = longestRetryDelayMillis, jitter = 0 } = policy;
  const whole = backOffMillis(retries + 1, delayMillis, maxDelayMillis, backoffFactor);
  return Math.round(whole * (1 - jitter * (textHash(endedTaskId) / 2 ** 32)));
}
