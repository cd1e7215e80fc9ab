import type { TaskState } from '../../core/model/enums.js';

/** What a test may do to the scheduler of this instance. Each fails with NotLeaderError where this instance does not lead. */
export abstract class SchedulerControls {
  /** Applies a status as if the scheduler had concluded it. false: no such task is active. */
  abstract forceStatus(taskId: string, state: TaskState): Promise<boolean>;
  /** Begins to compare our tasks with those of the machines. */
  abstract startReconciliation(): void;
  /** Ends the connection to the machines and begins it anew, in the same epoch. */
  abstract reconnect(): Promise<void>;
}
