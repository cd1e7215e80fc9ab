import { hasPassed } from '../elapsed.js';
import type { EndedTask, RequestOfTask } from './ended-task.js';
import { isEndOfSick, type DeployCounts } from './statistics.js';
import { isAlwaysRunning, isLongRunning } from '../model/enums.js';

export interface CooldownRules {
  /** Failures that start a cooldown; below 1 there is none. */
  failureThreshold: number;
  windowMillis: number;
}

/** The cooldown condition: enough failures of a deploy within the last window. */
export function isFailingFast(failuresAt: readonly number[], rules: CooldownRules, now: number): boolean {
  if (rules.failureThreshold < 1) return false;
  const recent = failuresAt.filter((at) => !hasPassed(at, rules.windowMillis, now));
  return recent.length >= rules.failureThreshold;
}

/** Ended tasks of the active deploy, as far as cooldowns need them. */
interface CoolingDeploy {
  /** Absent: none has ended. */
  lastFinishAt?: number;
  failureEvents: readonly { timestamp: number }[];
}

/** `deploy` undefined: there is no active one, or nothing is known of its tasks; then nothing speaks for a cooldown. */
export function isCooldownOver(deploy: CoolingDeploy | undefined, rules: CooldownRules, now: number): boolean {
  if (deploy?.lastFinishAt === undefined) return true;
  const failuresAt = deploy.failureEvents.map(({ timestamp }) => timestamp);
  return !isFailingFast(failuresAt, rules, now);
}

/** Decides if the end of a task starts a cooldown of its request, or is the success that ends one. */
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
  // A policy of its own takes the place of the cooldown.
  if (state !== 'ACTIVE' || !isAlwaysRunning(request.requestType) || request.restart) return undefined;
  if (succeeded || (task.state === 'TASK_KILLED' && !isEndOfSick(task)) || task.reason === 'REASON_INVALID_OFFERS')
    return undefined;
  const failures = [...counts.failureEvents.map((event) => event.timestamp), task.endedAt];
  return isFailingFast(failures, rules, now) ? 'ENTER' : undefined;
}
