import type { PendingTask } from '../../core/model/task.js';
import type { HeldRequest, HeldTask } from '../../core/working-set/index.js';

/** A request with its tasks and pending tasks; without `request`: what is left of one that is gone. */
export interface LoadedRequest {
  id: string;
  request: HeldRequest | undefined;
  /** Runs that its schedule has begun. Grows without another version of the request, so it holds at the time of the read only. */
  startedRuns?: number;
  tasks: HeldTask[];
  /** Tasks that were given up and may still run. */
  givenUp: HeldTask[];
  pendingTasks: PendingTask[];
}
