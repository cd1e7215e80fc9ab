import {
  checkFailure,
  checksDecide,
  countsSince,
  type HealthContext,
  isExcused,
  judgeTask,
  type ObservedTask,
  passed,
} from './judge.js';
import { deployHealthTimeoutMillis, healthcheckTimings } from './timings.js';
import { initMillis } from '../model/deploy-tasks.js';
import { isMainOver, type TaskCleanupType } from '../model/enums.js';

export interface NewTaskSettings {
  newTaskCheckerBaseDelaySeconds: number;
  killAfterTasksDoNotRunDefaultSeconds: number;
  killTaskIfNotHealthyAfterSeconds: number;
}

export type NewTaskVerdict =
  /** Nothing more to watch: it is healthy or has ended. */
  | { kind: 'settled' }
  | { kind: 'wait' }
  | { kind: 'cleanup'; cleanupType: TaskCleanupType & ('OVERDUE_NEW_TASK' | 'UNHEALTHY_NEW_TASK'); message: string };

/**
 * Watches a task that no deploy in progress watches: a replacement, or one started by a bounce or a scale. It may take
 * its time at first, then it has to run, and then to be healthy. Nothing is remembered from one look to the next, so a
 * new leader, or one that was busy, comes to the same verdict.
 */
export function newTaskVerdict(
  task: ObservedTask,
  context: HealthContext,
  settings: NewTaskSettings,
  now: number,
): NewTaskVerdict {
  const isChecked = checksDecide([task], context);
  if (isMainOver(task.state) || (task.runningAt !== undefined && !isChecked)) return { kind: 'settled' };
  // A status that fails at once does not wait for the first look.
  const condemned = isChecked && checkFailure(task, context, now) === 'FAILURE_STATUS_CODE';
  if (!condemned && now < countsSince(task) + firstDelayMillis(isChecked, context, settings)) {
    return { kind: 'wait' };
  }
  if (task.runningAt === undefined) return neverRan(task, context, settings, now);
  switch (judgeTask(task, context, now)) {
    case 'HEALTHY':
      return { kind: 'settled' };
    case 'UNHEALTHY':
      return { kind: 'cleanup', cleanupType: 'UNHEALTHY_NEW_TASK', message: 'Task failed its health checks' };
    case 'WAITING':
      return stillWaiting(task.runningAt, settings, now);
  }
}

/** Init steps have limits of their own. */
function neverRan(
  task: ObservedTask,
  { deploy }: HealthContext,
  settings: NewTaskSettings,
  now: number,
): NewTaskVerdict {
  const seconds = settings.killAfterTasksDoNotRunDefaultSeconds + Math.ceil(initMillis(deploy.tasks) / 1000);
  if (now - countsSince(task) <= seconds * 1000) return { kind: 'wait' };
  const message = `Task did not reach TASK_RUNNING within ${seconds} s, its last status is ${task.state}`;
  return { kind: 'cleanup', cleanupType: 'OVERDUE_NEW_TASK', message };
}

function stillWaiting(runningAt: number, settings: NewTaskSettings, now: number): NewTaskVerdict {
  const seconds = settings.killTaskIfNotHealthyAfterSeconds;
  if (now - runningAt <= seconds * 1000) return { kind: 'wait' };
  return {
    kind: 'cleanup',
    cleanupType: 'OVERDUE_NEW_TASK',
    message: `Task was not healthy after running for ${seconds} s`,
  };
}

/** The delay that health checks begin with, where they decide and one is set; else what a deploy has, and a little more. */
function firstDelayMillis(isChecked: boolean, { deploy, settings }: HealthContext, own: NewTaskSettings): number {
  const { startupDelayMillis } = healthcheckTimings(deploy.healthcheck ?? {}, settings);
  if (isChecked && startupDelayMillis !== undefined) return startupDelayMillis;
  return own.newTaskCheckerBaseDelaySeconds * 1000 + deployHealthTimeoutMillis(deploy, settings);
}

type NextCheck =
  /** Ask the task at this time (epoch milliseconds; a time gone by means now). */
  | { kind: 'check'; at: number }
  /** No further check: it passed, failed for good, or is not to be asked at all. */
  | { kind: 'stop' };

const stop: NextCheck = { kind: 'stop' };

/** A deploy may ask for an interval of 0; that must not become a loop that does nothing else. */
const shortestPauseMillis = 100;

/**
 * Time of the next check of a running task. Decided anew after every result, and for every running task when an
 * instance takes the lead.
 */
export function nextCheck(task: ObservedTask, context: HealthContext, now: number): NextCheck {
  const options = context.deploy.healthcheck;
  if (!options || task.runningAt === undefined) return stop;
  if (!checksDecide([task], context) || isExcused(task, context)) return stop;
  const timings = healthcheckTimings(options, context.settings);
  const last = task.lastResult;
  // The first check is due even long after the startup time: there may have been no leader while the task started.
  if (!last)
    return { kind: 'check', at: task.runningAt + (timings.startupDelayMillis ?? timings.startupIntervalMillis) };
  if (passed(last) || checkFailure(task, { ...context, deployPending: false }, now)) return stop;
  // The last one was not in the future, unless the clock has been set back since.
  const askedUntil = Math.min(last.timestamp + (last.durationMillis ?? 0), now);
  const pauseMillis = last.startup ? timings.startupIntervalMillis : timings.intervalMillis;
  return { kind: 'check', at: askedUntil + Math.max(pauseMillis, shortestPauseMillis) };
}
