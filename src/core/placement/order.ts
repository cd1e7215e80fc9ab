import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import type { PlacementRules } from './snapshot.js';

/** From 0 to 1; the higher, the sooner it is placed. */
export const priorityLevel = (request: Request, { priority }: Pick<PlacementRules, 'priority'>): number =>
  request.taskPriorityLevel ?? priority.levelOfType[request.requestType] ?? priority.defaultLevel;

interface Weighed<T> {
  item: T;
  requestId: string;
  weight: number;
  id: string;
}

/**
 * Heaviest first, request by request: a task weighs more the longer it is due and the higher its priority. Requests
 * follow each other by their heaviest task.
 */
export function byWeight<T extends { pending: PendingTask; request: Request }>(
  items: readonly T[],
  rules: PlacementRules,
  now: number,
): T[] {
  const weighed = items.map((item): Weighed<T> => {
    const { nextRunAt, requestId, id } = item.pending.pendingTaskId;
    const level = priorityLevel(item.request, rules);
    const weight = Math.max(now - nextRunAt, 1) * level ** rules.priority.weightFactor;
    return { item, requestId, weight, id };
  });
  weighed.sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1));
  const groups = new Map<string, T[]>();
  for (const { requestId, item } of weighed) {
    const group = groups.get(requestId);
    if (group) group.push(item);
    else groups.set(requestId, [item]);
  }
  return [...groups.values()].flat();
}
