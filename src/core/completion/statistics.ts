import { cleanupTypeInText } from '../cleanup/index.js';
import type { EndedTask } from './ended-task.js';
import type { TaskFailureEvent } from '../model/deploy.js';
import {
  isLongRunning,
  type RequestType,
  type TaskCleanupType,
  type TaskFailureType,
  type TaskState,
} from '../model/enums.js';

/** Counts over the ended tasks of one deploy. */
export interface DeployCounts {
  numTasks: number;
  numSuccess: number;
  numFailures: number;
  numSequentialRetries: number;
  lastFinishAt?: number;
  lastTaskState?: TaskState;
  averageRuntimeMillis?: number;
  /** Ends that the average runtime is over. */
  runtimeSamples: number;
  averageSchedulingDelayMillis?: number;
  /** Times of the schedule that passed without a run. */
  skippedRuns?: number;
  /** Runs that failed one after the other, up to now. */
  failedRuns?: number;
  /** Newest first. */
  failureEvents: TaskFailureEvent[];
}

export const noCounts: DeployCounts = {
  numTasks: 0,
  numSuccess: 0,
  numFailures: 0,
  numSequentialRetries: 0,
  runtimeSamples: 0,
  failureEvents: [],
};

const maxFailureEvents = 50;

/** The counts after one more end; called once per end. */
export function countEnd(
  counts: DeployCounts,
  task: EndedTask,
  requestType: RequestType,
  numSequentialRetries: number,
  skipped = 0,
): DeployCounts {
  const hasRuntime = task.state !== 'TASK_FAILED';
  const isNewest = counts.lastFinishAt === undefined || task.endedAt >= counts.lastFinishAt;
  const type = failureType(task, requestType);
  const event = type && { instance: task.taskId.instanceNo, timestamp: task.endedAt, type };
  const delay = task.taskId.startedAt - task.pendingTask.pendingTaskId.nextRunAt;
  return {
    numTasks: counts.numTasks + 1,
    ...inARow(counts, task),
    numSequentialRetries,
    lastFinishAt: isNewest ? task.endedAt : counts.lastFinishAt,
    lastTaskState: isNewest ? task.state : counts.lastTaskState,
    averageRuntimeMillis: hasRuntime
      ? mean(counts.averageRuntimeMillis, counts.runtimeSamples, task.endedAt - task.taskId.startedAt)
      : counts.averageRuntimeMillis,
    runtimeSamples: counts.runtimeSamples + (hasRuntime ? 1 : 0),
    averageSchedulingDelayMillis: mean(counts.averageSchedulingDelayMillis, counts.numTasks, delay),
    failedRuns: counts.failedRuns,
    skippedRuns: skipped > 0 ? (counts.skippedRuns ?? 0) + skipped : counts.skippedRuns,
    failureEvents: event ? newest([event, ...counts.failureEvents]) : counts.failureEvents,
  };
}

/** Successes and failures in a row: each ends the row of the other. The end of a task that had to go changes neither. */
function inARow(counts: DeployCounts, task: EndedTask): Pick<DeployCounts, 'numSuccess' | 'numFailures'> {
  const { numSuccess, numFailures } = counts;
  if (task.state === 'TASK_FINISHED') return { numSuccess: numSuccess + 1, numFailures: 0 };
  return task.hadToGo ? { numSuccess, numFailures } : { numSuccess: 0, numFailures: numFailures + 1 };
}

/** The mean is not rounded: after thousands of tasks one of them moves it by less than half a millisecond. */
const mean = (former: number | undefined, count: number, value: number): number =>
  ((former ?? 0) * count + value) / (count + 1);

const newest = (events: readonly TaskFailureEvent[]): TaskFailureEvent[] =>
  events.toSorted((a, b) => b.timestamp - a.timestamp).slice(0, maxFailureEvents);

const reasons = (...names: string[]): ReadonlySet<string> => new Set(names.map((name) => `REASON_${name}`));

const clusterErrors = reasons(
  'COMMAND_EXECUTOR_FAILED',
  'CONTAINER_LAUNCH_FAILED',
  'CONTAINER_PREEMPTED',
  'CONTAINER_UPDATE_FAILED',
  'EXECUTOR_REGISTRATION_TIMEOUT',
  'EXECUTOR_REREGISTRATION_TIMEOUT',
  'EXECUTOR_TERMINATED',
  'EXECUTOR_UNREGISTERED',
  'FRAMEWORK_REMOVED',
  'GC_ERROR',
  'INVALID_FRAMEWORKID',
  'INVALID_OFFERS',
  'MASTER_DISCONNECTED',
  'RECONCILIATION',
  'RESOURCES_UNKNOWN',
  'TASK_GROUP_INVALID',
  'TASK_GROUP_UNAUTHORIZED',
  'TASK_INVALID',
  'TASK_UNAUTHORIZED',
  'TASK_UNKNOWN',
);
const lostSlave = reasons(
  'AGENT_REMOVED',
  'AGENT_RESTARTED',
  'AGENT_UNKNOWN',
  'AGENT_DISCONNECTED',
  'AGENT_REMOVED_BY_OPERATOR',
);
const isStartupFailure = (type: TaskCleanupType | undefined): boolean =>
  type === 'OVERDUE_NEW_TASK' || type === 'UNHEALTHY_NEW_TASK';

/** The kind of failure that an end counts as, undefined when it counts as none. */
export function failureType(task: EndedTask, requestType: RequestType): TaskFailureType | undefined {
  const { state, message = '', reason = '' } = task;
  if (state === 'TASK_FINISHED') return isLongRunning(requestType) ? 'UNEXPECTED_EXIT' : undefined;
  if (state === 'TASK_KILLED') {
    const why = [task.cleanupType, cleanupTypeInText(message)];
    return why.some(isStartupFailure) ? 'STARTUP_FAILURE' : undefined;
  }
  // Whatever happens to a task that has to go anyway says nothing about the deploy.
  if (task.hadToGo) return undefined;
  if (state === 'TASK_FAILED') {
    if (message.includes('Memory limit exceeded') || reason === 'REASON_CONTAINER_LIMITATION_MEMORY') return 'OOM';
    return reason === 'REASON_CONTAINER_LIMITATION_DISK' ? 'OUT_OF_DISK_SPACE' : 'BAD_EXIT_CODE';
  }
  if (state !== 'TASK_LOST') return undefined;
  if (clusterErrors.has(reason)) return 'MESOS_ERROR';
  return lostSlave.has(reason) ? 'LOST_SLAVE' : undefined;
}
