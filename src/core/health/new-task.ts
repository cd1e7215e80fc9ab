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
 * its time at first, then it has to run, and then to be healthy.
 */
export function newTaskVerdict(
  task: ObservedTask,
  context: HealthContext,
  settings: NewTaskSettings,
  now: number,
): NewTaskVerdict {
  if (isTerminal(task.state)) return { kind: 'settled' };
  if (task.runningAt === undefined) return neverRan(task, settings, now);
  if (!checksDecide([task], context)) return { kind: 'settled' };
  // A status that fails at once does not wait for the first look.
  const condemned = checkFailure(task, context, now) === 'FAILURE_STATUS_CODE';
  if (!condemned && now < task.taskId.startedAt + firstDelayMillis(context, settings)) return { kind: 'wait' };
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

function firstDelayMillis(
  { deploy, settings }: HealthContext,
  { newTaskCheckerBaseDelaySeconds }: NewTaskSettings,
): number {
  const { startupDelayMillis } = healthcheckTimings(deploy.healthcheck ?? {}, settings);
  return startupDelayMillis ?? newTaskCheckerBaseDelaySeconds * 1000 + deployHealthTimeoutMillis(deploy, settings);
}
