import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { misplacedTasks, type ActiveTask, type PlannedCleanup, type SpreadRules } from '../pending-work/index.js';
import { instancesOf } from '../request-validation/index.js';
import { surplusTasks } from './changes.js';

/**
 * What goes the moment a request is given fewer instances: tasks with a number beyond the new count, and of those that
 * stay the ones that crowd a rack, or stand in the way of an attribute that needs its share. `tasks`: active ones of the
 * active deploy. Those that are on their way already are left alone.
 */
export function shrink(
  before: Request,
  after: Request,
  tasks: readonly ActiveTask[],
  rules: SpreadRules,
): PlannedCleanup[] {
  if (instancesOf(after) >= instancesOf(before)) return [];
  const standing = tasks.filter((task) => task.cleaning === undefined && !task.killed);
  const surplus = surplusTasks(
    before,
    after,
    standing.map(({ taskId }) => taskId),
  );
  const cleanups: PlannedCleanup[] = surplus.map((taskId) => ({ taskId, cleanupType: 'SCALING_DOWN' }));
  // The place of a run is no reason to begin it anew.
  if (!isLongRunning(after.requestType)) return cleanups;
  const staying = standing
    .filter(({ taskId }) => !surplus.includes(taskId))
    .toSorted(({ taskId: a }, { taskId: b }) => b.instanceNo - a.instanceNo || a.startedAt - b.startedAt);
  // As many instances as racks, or fewer, could not have crowded any.
  const racksMatter = instancesOf(before) > rules.rackCount;
  const spread = racksMatter ? rules : { ...rules, rebalanceRacksOnScaleDown: false };
  const moves = misplacedTasks(after, staying, spread);
  return [...cleanups, ...moves.map(({ task, cleanupType }) => ({ taskId: task.taskId, cleanupType }))];
}
