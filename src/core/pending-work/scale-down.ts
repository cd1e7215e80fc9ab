import type { Request } from '../model/request.js';
import type { ActiveTask, PlannedCleanup, WorkRules } from './pending-work.js';

export interface ScaleDown {
  cleanups: PlannedCleanup[];
  survivors: ActiveTask[];
  /** How many tasks have to be started elsewhere for those that were moved. */
  replacements: number;
}

interface Surplus {
  request: Request;
  matching: readonly ActiveTask[];
  expected: number;
  deployPending: boolean;
  user?: string;
}

/** Which of too many tasks go: those with a number that is taken twice or beyond the expected count. */
export function scaleDown({ request, matching, expected, deployPending, user }: Surplus, rules: WorkRules): ScaleDown {
  const direction = deployPending ? 1 : -1;
  const ordered = matching.toSorted(
    (a, b) =>
      direction * (a.taskId.instanceNo - b.taskId.instanceNo) ||
      a.taskId.startedAt - b.taskId.startedAt ||
      (a.taskId.id < b.taskId.id ? -1 : 1),
  );
  const seen = new Set<number>();
  const cleanups: PlannedCleanup[] = [];
  const survivors: ActiveTask[] = [];
  for (const task of ordered) {
    const { instanceNo } = task.taskId;
    if (seen.has(instanceNo) || instanceNo > expected) {
      cleanups.push({ taskId: task.taskId, cleanupType: 'SCALING_DOWN', user });
    } else survivors.push(task);
    seen.add(instanceNo);
  }
  const moved = [
    ...overfullRacks(request, survivors, rules).map((task) => ({ task, cleanupType: 'REBALANCE_RACKS' as const })),
    ...lackingAttributes(request, survivors, rules).map((task) => ({
      task,
      cleanupType: 'REBALANCE_SLAVE_ATTRIBUTES' as const,
    })),
  ];
  // A task that both rules want to move is moved once.
  const byTask = new Map(moved.toReversed().map(({ task, cleanupType }) => [task, cleanupType]));
  for (const [task, cleanupType] of byTask) cleanups.push({ taskId: task.taskId, cleanupType, user });
  return { cleanups, survivors: survivors.filter((task) => !byTask.has(task)), replacements: byTask.size };
}

/** At most half as many tasks as there are racks; never instance 1. */
function overfullRacks(request: Request, survivors: readonly ActiveTask[], rules: WorkRules): ActiveTask[] {
  if (!request.rackSensitive || !rules.rebalanceRacksOnScaleDown || rules.rackCount === 0) return [];
  const perRack = (request.instances ?? 1) / rules.rackCount;
  const counts = new Map<string, number>();
  const moved: ActiveTask[] = [];
  for (const task of survivors) {
    const count = (counts.get(task.rackId) ?? 0) + 1;
    counts.set(task.rackId, count);
    const mayMove = moved.length < Math.floor(rules.rackCount / 2) && task.taskId.instanceNo > 1;
    if (count > perRack && mayMove) moved.push(task);
  }
  return moved;
}

/** For each attribute value that needs its share of tasks: those that stand elsewhere and are in the way. */
function lackingAttributes(request: Request, survivors: readonly ActiveTask[], rules: WorkRules): ActiveTask[] {
  const instances = request.instances ?? 1;
  const moved = new Set<ActiveTask>();
  for (const [name, minimums] of Object.entries(request.slaveAttributeMinimums ?? {})) {
    for (const [value, percent] of Object.entries(minimums)) {
      const needed = Math.max(1, Math.ceil((percent / 100) * instances));
      const lacking = survivors.filter((task) => rules.attributesOf(task.slaveId)[name] !== value);
      const reachable = survivors.length - lacking.length + (instances - survivors.length);
      for (const task of lacking.slice(0, Math.max(needed - reachable, 0))) moved.add(task);
    }
  }
  return [...moved];
}
