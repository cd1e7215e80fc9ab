import type { DeployResult } from '../model/deploy.js';
import type { TaskId } from '../model/task.js';

/** The end of a deploy. */
export type DeployOutcome = Pick<DeployResult, 'deployState' | 'message' | 'deployFailures'>;

export const without = (taskIds: readonly TaskId[], left: readonly TaskId[]): TaskId[] => {
  const out = new Set(left.map(({ id }) => id));
  return taskIds.filter(({ id }) => !out.has(id));
};
