import type { PendingType } from '../model/enums.js';
import type { PendingRequest, PendingTask } from '../model/task.js';

/** Runs that somebody asked for. A new deploy takes over those that wait: they were promised. */
export const promisedTypes: readonly PendingType[] = ['ONEOFF', 'IMMEDIATE'];

/** The run of a task that waits under an older deploy, queued again for `deployId` as it was asked for. */
export function runWith(deployId: string, { pendingTaskId, ...run }: PendingTask): PendingRequest {
  const { requestId, pendingType, createdAt, nextRunAt } = pendingTaskId;
  return { ...run, requestId, deployId, pendingType, timestamp: createdAt, runAt: nextRunAt };
}
