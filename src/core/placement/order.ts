import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import type { PlacementRules } from './snapshot.js';

/** From 0 to 1; the higher, the sooner it is placed. */
export const priorityLevel = (request: Request, { priority }: Pick<PlacementRules, 'priority'>): number =>
  request.taskPriorityLevel ?? priority.levelOfType[request.requestType] ?? priority.defaultLevel;

interface Group<T> {
  /** Of its heaviest task. */
  weight: number;
  requestId: string;
  items: { item: T; weight: number }[];
}

/**
 * Heaviest first, request by request: a task weighs more the longer it is due and the higher its priority. Requests
 * follow each other by their heaviest task; ties go to the smaller id.
 */
export function byWeight<T extends { pending: PendingTask; request: Request }>(
  items: readonly T[],
  rules: PlacementRules,
  now: number,
): T[] {
  const groups = new Map<string, Group<T>>();
  for (const item of items) {
    const { nextRunAt, requestId } = item.pending.pendingTaskId;
    const level = priorityLevel(item.request, rules) ** rules.priority.weightFactor;
    const weight = Math.max(now - nextRunAt, 1) * level;
    const group = groups.get(requestId) ?? { weight, requestId, items: [] };
    group.weight = Math.max(group.weight, weight);
    group.items.push({ item, weight });
    groups.set(requestId, group);
  }
  const ordered = [...groups.values()].sort((a, b) => b.weight - a.weight || (a.requestId < b.requestId ? -1 : 1));
  return ordered.flatMap((group) =>
    group.items.sort((a, b) => b.weight - a.weight || (idOf(a) < idOf(b) ? -1 : 1)).map(({ item }) => item),
  );
}

const idOf = ({ item }: { item: { pending: PendingTask } }): string => item.pending.pendingTaskId.id;
