import { isFailingFast, type CooldownRules } from '../cooldown/index.js';
import { isAlwaysRunning, isLongRunning } from '../model/enums.js';
import type { EndedTask, RequestOfTask } from './completion.js';
import type { DeployCounts } from './statistics.js';

/** Whether the end of a task makes its request cool down, or is the success that ends a cooldown. */
export function cooldownChange(
  task: EndedTask,
  { request, state }: RequestOfTask,
  /** Without this end. */
  counts: DeployCounts,
  rules: CooldownRules,
  now: number,
): 'ENTER' | 'LEAVE' | undefined {
  const succeeded = task.state === 'TASK_FINISHED';
  if (state === 'SYSTEM_COOLDOWN') return succeeded && !isLongRunning(request.requestType) ? 'LEAVE' : undefined;
  if (state !== 'ACTIVE' || !isAlwaysRunning(request.requestType)) return undefined;
  if (succeeded || task.state === 'TASK_KILLED' || task.reason === 'REASON_INVALID_OFFERS') return undefined;
  const failures = [...counts.failureEvents.map((event) => event.timestamp), task.endedAt];
  return isFailingFast(failures, rules, now) ? 'ENTER' : undefined;
}
