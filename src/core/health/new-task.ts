import { isTerminal, type TaskCleanupType } from '../model/enums.js';
import { checkFailure, judgeTask } from './judge.js';
import { checksDecide, type HealthContext, type ObservedTask } from './observed-task.js';
import { deployHealthTimeoutMillis, healthcheckTimings } from './timings.js';

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
  if (isTerminal(task.state) || (task.runningAt !== undefined && !isChecked)) return { kind: 'settled' };
  // A status that fails at once does not wait for the first look.
  const condemned = isChecked && checkFailure(task, context, now) === 'FAILURE_STATUS_CODE';
  if (!condemned && now < task.taskId.startedAt + firstDelayMillis(isChecked, context, settings)) {
    return { kind: 'wait' };
  }
  if (task.runningAt === undefined) return neverRan(task, settings, now);
  switch (judgeTask(task, context, now)) {
    case 'HEALTHY':
      return { kind: 'settled' };
    case 'UNHEALTHY':
      return { kind: 'cleanup', cleanupType: 'UNHEALTHY_NEW_TASK', message: 'Task failed its health checks' };
    case 'WAITING':
      return stillWaiting(task.runningAt, settings, now);
  }
}

function neverRan({ taskId, state }: ObservedTask, settings: NewTaskSettings, now: number): NewTaskVerdict {
  const seconds = settings.killAfterTasksDoNotRunDefaultSeconds;
  if (now - taskId.startedAt <= seconds * 1000) return { kind: 'wait' };
  const message = `Task did not reach TASK_RUNNING within ${seconds} s, its last status is ${state}`;
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
