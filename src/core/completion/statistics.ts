import type { RequestType, TaskState } from '../model/enums.js';
import type { TaskFailureEvent } from '../model/deploy.js';
import type { EndedTask } from './completion.js';
import { failureType } from './failure-event.js';

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
): DeployCounts {
  const succeeded = task.state === 'TASK_FINISHED';
  const failed = !succeeded && task.cleaningText === undefined;
  const hasRuntime = task.state !== 'TASK_FAILED';
  const isNewest = counts.lastFinishAt === undefined || task.endedAt >= counts.lastFinishAt;
  const type = failureType(task, requestType);
  const event = type && { instance: task.taskId.instanceNo, timestamp: task.endedAt, type };
  const delay = task.taskId.startedAt - task.pendingTask.pendingTaskId.nextRunAt;
  return {
    numTasks: counts.numTasks + 1,
    numSuccess: succeeded ? counts.numSuccess + 1 : failed ? 0 : counts.numSuccess,
    numFailures: succeeded ? 0 : failed ? counts.numFailures + 1 : counts.numFailures,
    numSequentialRetries,
    lastFinishAt: isNewest ? task.endedAt : counts.lastFinishAt,
    lastTaskState: isNewest ? task.state : counts.lastTaskState,
    averageRuntimeMillis: hasRuntime
      ? mean(counts.averageRuntimeMillis, counts.runtimeSamples, task.endedAt - task.taskId.startedAt)
      : counts.averageRuntimeMillis,
    runtimeSamples: counts.runtimeSamples + (hasRuntime ? 1 : 0),
    averageSchedulingDelayMillis: mean(counts.averageSchedulingDelayMillis, counts.numTasks, delay),
    failureEvents: event ? newest([event, ...counts.failureEvents]) : counts.failureEvents,
  };
}

/** Not rounded: after thousands of tasks one of them moves the mean by less than half a millisecond. */
const mean = (former: number | undefined, count: number, value: number): number =>
  ((former ?? 0) * count + value) / (count + 1);

const newest = (events: readonly TaskFailureEvent[]): TaskFailureEvent[] =>
  events.toSorted((a, b) => b.timestamp - a.timestamp).slice(0, maxFailureEvents);
