import type { DeployTask } from '../deploys/index.js';
import type { TaskCleanupType } from '../model/enums.js';
import type { PendingTask, TaskId } from '../model/task.js';
import type { ActiveTask } from '../pending-work/index.js';

/** An active task of the request, as deploys and the queue look at it. */
export type PlanTask = DeployTask & Pick<ActiveTask, 'slaveId' | 'rackId'>;

/** A task that has to go, and why. */
export interface PlannedStop {
  taskId: TaskId;
  cleanupType: TaskCleanupType;
}

/** Tasks that start together, and those that go when all of them are healthy. */
export interface PlannedStep {
  start: PendingTask[];
  stop: PlannedStop[];
  /** The next step begins so many milliseconds after this one; absent: at once. */
  waitMillis?: number;
  /** The next step begins when somebody asks for it. */
  waitsForUpdate?: boolean;
}

/** The same task as the pending queue looks at it. */
export const asActive = ({ taskId, slaveId, rackId, cleanup, killed }: PlanTask): ActiveTask => ({
  taskId,
  slaveId,
  rackId,
  cleaning: cleanup,
  killed,
});
