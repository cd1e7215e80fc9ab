import {
  isLongRunning,
  isRunnable,
  isTerminal,
  type RequestState,
  type TaskCleanupType,
  type TaskState,
} from '../model/enums.js';
import type { Request, RequestCleanup } from '../model/request.js';
import type { PendingRequest, TaskCleanup, TaskId } from '../model/task.js';

interface RequestCleanupSettings {
  defaultValueForKillTasksOfPausedRequests: boolean;
}

export interface RequestCleanupView {
  /** undefined: the request is gone. */
  requestState?: RequestState;
  /** A deploy of it is in progress. */
  deploying: boolean;
  /** Tasks of other deploys have to go; undefined: they may stay, whatever deploy they are of. */
  deploysInUse?: readonly (string | undefined)[];
  tasks: readonly { taskId: TaskId; state: TaskState; cleanupType?: TaskCleanupType; killedFor?: TaskCleanupType }[];
  settings: RequestCleanupSettings;
}

export type RequestCleanupStep =
  /** Nothing yet; the record stays. */
  | { kind: 'wait' }
  /** Done without any effect. */
  | { kind: 'drop' }
  /** Tasks have to go; no new ones start. `overwrite`: whatever cleanup they have already. */
  | { kind: 'clean'; cleanups: TaskCleanup[]; overwrite: boolean; dropPendingTasks: boolean; done: boolean }
  | { kind: 'bounce'; cleanups: TaskCleanup[]; queue: PendingRequest }
  /** Nothing runs any more: the request goes. */
  | { kind: 'remove' };

/** Long-running tasks are of the active deploy or of the one that rolls out; jobs run on with the deploy they began with. */
export const deploysInUse = (stored: {
  request: Request;
  activeDeployId?: string;
  pendingDeployId?: string;
}): RequestCleanupView['deploysInUse'] =>
  isLongRunning(stored.request.requestType) ? [stored.activeDeployId, stored.pendingDeployId] : undefined;

/** One look at an order for a whole request. */
export function decideRequestCleanup(
  cleanup: RequestCleanup,
  view: RequestCleanupView,
  now: number,
): RequestCleanupStep {
  switch (cleanup.cleanupType) {
    case 'PAUSING':
      return pausing(cleanup, view, now);
    case 'DELETING':
      return deleting(cleanup, view, now);
    case 'BOUNCE':
      return bouncing(cleanup, view, 'BOUNCING', now);
    case 'INCREMENTAL_BOUNCE':
      return bouncing(cleanup, view, 'INCREMENTAL_BOUNCE', now);
  }
}

const active = (view: RequestCleanupView) => view.tasks.filter((task) => !isTerminal(task.state));

const taskCleanup = (of: RequestCleanup, taskId: TaskId, cleanupType: TaskCleanupType, now: number): TaskCleanup => ({
  taskId,
  cleanupType,
  timestamp: now,
  user: of.user,
  message: of.message,
  actionId: of.actionId,
  removeFromLoadBalancer: of.removeFromLoadBalancer,
});

function pausing(cleanup: RequestCleanup, view: RequestCleanupView, now: number): RequestCleanupStep {
  if (!view.requestState) return { kind: 'drop' };
  const isTakenBack = isRunnable(view.requestState);
  // Taken back at once, a pause may still have ended a deploy: nothing else takes the tasks of that one.
  const tasks = active(view).filter(({ taskId }) => !isTakenBack || isOfNoDeploy(view, taskId));
  if (isTakenBack && tasks.length === 0) return { kind: 'drop' };
  const kill = cleanup.killTasks ?? view.settings.defaultValueForKillTasksOfPausedRequests;
  const type = kill && !cleanup.runShellCommandBeforeKill ? 'PAUSE' : 'PAUSING';
  return {
    kind: 'clean',
    cleanups: tasks.map(({ taskId }) => taskCleanup(cleanup, taskId, type, now)),
    overwrite: false,
    dropPendingTasks: !isTakenBack,
    done: true,
  };
}

const isOfNoDeploy = ({ deploysInUse }: RequestCleanupView, { deployId }: TaskId): boolean =>
  deploysInUse !== undefined && !deploysInUse.includes(deployId);

/** Repeats until nothing runs: a task may have been launched at the very moment of the deletion. */
function deleting(cleanup: RequestCleanup, view: RequestCleanupView, now: number): RequestCleanupStep {
  const tasks = active(view);
  if (tasks.length === 0) return view.deploying ? { kind: 'wait' } : { kind: 'remove' };
  const type: TaskCleanupType = cleanup.force ? 'USER_REQUESTED_DESTROY' : 'REQUEST_DELETING';
  const isReported = (task: (typeof tasks)[number]) => task.cleanupType === type || task.killedFor === type;
  const unreported = cleanup.waitForTasks ? [] : tasks.filter((task) => !isReported(task));
  return {
    kind: 'clean',
    cleanups: unreported.map(({ taskId }) => taskCleanup(cleanup, taskId, type, now)),
    overwrite: true,
    dropPendingTasks: true,
    done: false,
  };
}

function bouncing(
  cleanup: RequestCleanup,
  view: RequestCleanupView,
  type: 'BOUNCING' | 'INCREMENTAL_BOUNCE',
  now: number,
): RequestCleanupStep {
  const { requestId, deployId } = cleanup;
  if (!view.requestState || !deployId) return { kind: 'drop' };
  const bounced = active(view).filter((task) => task.taskId.deployId === deployId);
  return {
    kind: 'bounce',
    cleanups: bounced.map(({ taskId }) => taskCleanup(cleanup, taskId, type, now)),
    queue: {
      requestId,
      deployId,
      timestamp: now,
      user: cleanup.user,
      pendingType: 'BOUNCE',
      skipHealthchecks: cleanup.skipHealthchecks,
      message: cleanup.message,
      actionId: cleanup.actionId,
    },
  };
}
