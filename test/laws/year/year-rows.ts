import type { DeployCounts, EndedTask } from '../../../src/core/completion/index.js';
import type { RequestState, TaskCleanupType } from '../../../src/core/model/enums.js';
import type { PendingRequest, PendingTask, TaskId } from '../../../src/core/model/task.js';
import type { TryEnd } from './year-case.js';

export interface TaskRow {
  taskId: TaskId;
  pendingTask: PendingTask;
  cleaning?: TaskCleanupType;
  cleanedAt?: number;
  killed: boolean;
}

/** All that is stored of one request: a new leader knows nothing else. */
export interface Rows {
  state: RequestState;
  queue: PendingRequest[];
  pending: PendingTask[];
  tasks: TaskRow[];
  counts: DeployCounts;
  plannedUntil?: number;
  planAt?: number;
  startedRuns: number;
  changedAt: number;
  /** The order to pause, until the leader has carried it out. */
  pausing?: { killTasks: boolean; timestamp: number };
}

/** A task on its machine, which goes on whoever leads. */
export interface Process {
  endsAt: number;
  end: TryEnd | { kind: 'KILLED' };
}

/** The end of a task as its machine tells it. */
export function endOf({ taskId, pendingTask, cleaning }: TaskRow, { endsAt, end }: Process): EndedTask {
  const ended = { taskId, pendingTask, endedAt: endsAt, hadToGo: cleaning !== undefined, cleanupType: cleaning };
  switch (end.kind) {
    case 'FINISHED':
      return { ...ended, state: 'TASK_FINISHED' };
    case 'FAILED':
      return { ...ended, state: 'TASK_FAILED', exitCode: end.exitCode };
    case 'LOST':
      return { ...ended, state: 'TASK_LOST', reason: 'REASON_AGENT_REMOVED' };
    case 'TIME_LIMIT':
      return {
        ...ended,
        state: 'TASK_KILLED',
        hadToGo: true,
        cleanupType: cleaning === 'REPLACED_BY_NEXT_RUN' ? cleaning : 'TASK_EXCEEDED_TIME_LIMIT',
      };
    case 'KILLED':
      return { ...ended, state: 'TASK_KILLED' };
  }
}
