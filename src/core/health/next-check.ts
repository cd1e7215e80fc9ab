import { checkFailure, isExcused } from './judge.js';
import { checksDecide, passed, type HealthContext, type ObservedTask } from './observed-task.js';
import { healthcheckTimings } from './timings.js';

export type NextCheck =
  /** Ask the task at this time (epoch milliseconds; a time gone by means now). */
  | { kind: 'check'; at: number }
  /** No further check: it passed, failed for good, or is not to be asked at all. */
  | { kind: 'stop' };

const stop: NextCheck = { kind: 'stop' };

/** A deploy may ask for an interval of 0; that must not become a loop that does nothing else. */
const shortestPauseMillis = 100;

/** When to ask a running task next. Asked again after every result, and for every running task when an instance takes the lead. */
export function nextCheck(task: ObservedTask, context: HealthContext, now: number): NextCheck {
  const options = context.deploy.healthcheck;
  if (!options || task.runningAt === undefined) return stop;
  if (!checksDecide([task], context) || isExcused(task, context)) return stop;
  const timings = healthcheckTimings(options, context.settings);
  const last = task.lastResult;
  // The first check is due even long after the startup time: nobody may have led while the task started.
  if (!last)
    return { kind: 'check', at: task.runningAt + (timings.startupDelayMillis ?? timings.startupIntervalMillis) };
  if (passed(last) || checkFailure(task, { ...context, deployPending: false }, now)) return stop;
  const askedUntil = last.timestamp + (last.durationMillis ?? 0);
  const pauseMillis = last.startup ? timings.startupIntervalMillis : timings.intervalMillis;
  return { kind: 'check', at: askedUntil + Math.max(pauseMillis, shortestPauseMillis) };
}
