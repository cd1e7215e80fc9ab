import type { TaskFailureEvent } from '../model/deploy.js';
import type { FailureLimit } from './rules.js';

/** A task that has to go, by its instance number. */
export interface InstanceCleanup {
  instanceNo: number;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** Failed starts of one instance since its task was told to go, beyond which its replacement is in a loop. */
const failedReplacements = 2;

/**
 * The failed starts that keep a task from being replaced. Once an instance is stuck like that, and failed starts of such
 * instances are many lately, those from before the cleanup belong to the loop as well: it began with them.
 */
export function startupFailureLoop(
  failures: readonly TaskFailureEvent[],
  cleanups: readonly InstanceCleanup[],
  limit: FailureLimit,
  now: number,
): TaskFailureEvent[] {
  const cleanedAt = newestByInstance(cleanups);
  const starts = failures.filter(({ type, instance }) => type === 'STARTUP_FAILURE' && cleanedAt.has(instance));
  const stuck = [...cleanedAt].flatMap(([instanceNo, at]) => {
    const since = starts.filter(({ instance, timestamp }) => instance === instanceNo && timestamp > at);
    return since.length > failedReplacements ? since : [];
  });
  if (stuck.length === 0) return [];
  const recent = starts.filter(({ timestamp }) => now - timestamp < limit.windowMillis);
  const many = recent.length > limit.failureThreshold ? recent : [];
  return [...stuck, ...many];
}

function newestByInstance(cleanups: readonly InstanceCleanup[]): Map<number, number> {
  const newest = new Map<number, number>();
  for (const { instanceNo, createdAt } of cleanups) {
    newest.set(instanceNo, Math.max(createdAt, newest.get(instanceNo) ?? createdAt));
  }
  return newest;
}
