import { checkFailure, passed } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import type { CheckedTask } from './checked-tasks.service.js';
import { isOnItsOwn } from './new-task-check.poller.js';

/** The task as it would be read once this result is stored. */
export const withResult = (task: CheckedTask, result: TaskHealthcheckResult): CheckedTask => ({
  ...task,
  watched: {
    ...task.watched,
    // What is not needed to judge is not kept in memory for thousands of tasks.
    lastResult: { ...result, responseBody: undefined },
    checksCounted: task.watched.checksCounted + (result.startup ? 0 : 1),
  },
});

/** Failed at once, and nobody has ordered it to go yet. */
export const isCondemned = (task: CheckedTask, now: number): boolean =>
  isOnItsOwn(task) && checkFailure(task.watched, task.context, now) === 'FAILURE_STATUS_CODE';

/** Healthy, and the load balancer does not know it yet. */
export const newsForLoadBalancer = (task: CheckedTask): boolean =>
  task.loadBalanced && isOnItsOwn(task) && task.watched.lastResult !== undefined && passed(task.watched.lastResult);
