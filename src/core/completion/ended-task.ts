import { isLongRunning, type RequestState, type TaskCleanupType, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';

/** A task whose end was just recorded for the first time. */
export interface EndedTask {
  taskId: TaskId;
  state: TaskState;
  endedAt: number;
  message?: string;
  reason?: string;
  /** Exit code of a program that failed by itself, where its machine tells one. */
  exitCode?: number;
  /** It was told to go, or a kill was decided: its end says nothing about the deploy. */
  hadToGo: boolean;
  /** Type of the cleanup for which it had to go, as far as there was one. */
  cleanupType?: TaskCleanupType;
  /** The pending task that it was launched from. */
  pendingTask: PendingTask;
}

export interface RequestOfTask {
  request: Request;
  state: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
  scheduleSince?: number;
  /** Epoch milliseconds. */
  changedAt?: number;
}

const relaunchReasons: ReadonlySet<string> = new Set([
  'REASON_INVALID_OFFERS',
  'REASON_AGENT_REMOVED',
  'REASON_AGENT_RESTARTED',
  'REASON_AGENT_UNKNOWN',
  'REASON_MASTER_DISCONNECTED',
  'REASON_AGENT_DISCONNECTED',
]);

/** The machine of a task is back and never got its launch, which can reach it no more: nothing of it ran. */
export const undelivered = { state: 'TASK_DROPPED', reason: 'REASON_TASK_UNKNOWN' } as const;

export const isUndelivered = ({ state, reason }: Pick<EndedTask, 'state' | 'reason'>): boolean =>
  state === undelivered.state && reason === undelivered.reason;

/**
 * A run of a job that was lost with its machine, or never got there: it is asked for again as it was. What may be half done is not where
 * the request says so.
 */
export const isRelaunched = (
  end: Pick<EndedTask, 'state' | 'reason'>,
  { requestType, retry }: Pick<Request, 'requestType' | 'retry'>,
): boolean =>
  !isLongRunning(requestType) &&
  (isUndelivered(end) ||
    (retry?.onLost !== false && end.state === 'TASK_LOST' && relaunchReasons.has(end.reason ?? '')));
