import type { TaskId } from '../model/task.js';
import { isStaying, otherActive, type DeployView } from './view.js';

/** All old tasks but `keep`; those that have to go anyway first, then by instance number. */
export function oldTasksToRetire(view: DeployView, keep: number): TaskId[] {
  const old = otherActive(view).sort(
    (a, b) =>
      Number(isStaying(a)) - Number(isStaying(b)) ||
      a.taskId.instanceNo - b.taskId.instanceNo ||
      a.taskId.startedAt - b.taskId.startedAt,
  );
  return old.slice(0, Math.max(old.length - keep, 0)).map((task) => task.taskId);
}

/** Those of `taskIds` that run and may stay. */
export function oldTasksStaying(view: DeployView, taskIds: readonly TaskId[]): TaskId[] {
  const wanted = new Set(taskIds.map(({ id }) => id));
  return otherActive(view)
    .filter((task) => isStaying(task) && wanted.has(task.taskId.id))
    .map((task) => task.taskId);
}

export const without = (taskIds: readonly TaskId[], left: readonly TaskId[]): TaskId[] => {
  const out = new Set(left.map(({ id }) => id));
  return taskIds.filter(({ id }) => !out.has(id));
};
