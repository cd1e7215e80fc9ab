import type { RequestState, TaskCleanupType, TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';

/** A task whose end was just recorded for the first time. */
export interface EndedTask {
  taskId: TaskId;
  state: TaskState;
  endedAt: number;
  message?: string;
  reason?: string;
  /** It was told to go, or a kill was decided: its end says nothing about the deploy. */
  hadToGo: boolean;
  /** Type of the cleanup for which it had to go, as far as there was one. */
  cleanupType?: TaskCleanupType;
  /** What it was launched for. */
  pendingTask: PendingTask;
}

export interface RequestOfTask {
  request: Request;
  state: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
}
