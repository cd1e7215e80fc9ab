import type { PendingTask } from '../../core/model/task.js';
import type { HeldRequest, HeldTask } from '../../core/working-set/index.js';

/** A request with its tasks and pending tasks; without `request`: what is left of one that is gone. */
export interface LoadedRequest {
  id: string;
  request: HeldRequest | undefined;
  tasks: HeldTask[];
  pendingTasks: PendingTask[];
}
