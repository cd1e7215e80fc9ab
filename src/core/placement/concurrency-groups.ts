import type { PendingTask } from '../model/task.js';
import type { Request } from '../model/request.js';
import { priorityLevel } from './demand.js';
import type { GroupUse, GroupUses, PlacementRules } from './snapshot.js';

/** The members of a group as one: where they give different limits, the least one holds. */
export function useOfGroup(
  members: Iterable<{ request: Pick<Request, 'concurrencyGroup'>; active: number }>,
): GroupUse | undefined {
  const use = { limit: Number.POSITIVE_INFINITY, active: 0 };
  for (const { request, active } of members) {
    use.limit = Math.min(use.limit, request.concurrencyGroup?.limit ?? use.limit);
    use.active += active;
  }
  return use.limit === Number.POSITIVE_INFINITY ? undefined : use;
}

/** The room in concurrency groups while runs are placed, or come back, one after the other. */
export class GroupRoom {
  private readonly uses = new Map<string, GroupUse>();

  constructor(private readonly known: GroupUses | undefined) {}

  /** The use of its group when there is no room for one more run of the request. */
  fullFor({ concurrencyGroup: group }: Pick<Request, 'concurrencyGroup'>): GroupUse | undefined {
    if (!group) return undefined;
    const use = this.of(group);
    return use.active >= use.limit ? use : undefined;
  }

  /** One more run of the request is active. */
  take({ concurrencyGroup: group }: Pick<Request, 'concurrencyGroup'>): void {
    if (group) this.of(group).active += 1;
  }

  private of({ name, limit }: NonNullable<Request['concurrencyGroup']>): GroupUse {
    const known = this.uses.get(name);
    if (known) return known;
    const given = this.known?.get(name);
    const use = { limit: Math.min(limit, given?.limit ?? limit), active: given?.active ?? 0 };
    this.uses.set(name, use);
    return use;
  }
}

interface WaitingRun {
  pending: PendingTask;
  view: { request: Request };
}

/**
 * The runs of each concurrency group by priority, then by time, at the places that the group has among all others. An urgent run
 * of one request passes an older one of another, which weights alone would not give.
 */
export function inGroupOrder<T extends WaitingRun>(items: readonly T[], rules: PlacementRules): readonly T[] {
  const places = new Map<string, number[]>();
  for (const [index, { view }] of items.entries()) {
    const { concurrencyGroup: group } = view.request;
    if (!group) continue;
    const known = places.get(group.name);
    if (known) known.push(index);
    else places.set(group.name, [index]);
  }
  if (places.size === 0) return items;
  const ordered = [...items];
  for (const indices of places.values()) {
    const members = indices.map((index) => items[index]!).sort((a, b) => byPriority(a, b, rules));
    for (const [position, index] of indices.entries()) ordered[index] = members[position]!;
  }
  return ordered;
}

function byPriority(a: WaitingRun, b: WaitingRun, rules: PlacementRules): number {
  const [idA, idB] = [a.pending.pendingTaskId, b.pending.pendingTaskId];
  return (
    priorityLevel(b.view.request, rules) - priorityLevel(a.view.request, rules) ||
    idA.nextRunAt - idB.nextRunAt ||
    (idA.id < idB.id ? -1 : 1)
  );
}

/** Text for people, without names of other requests, which not all may read. */
export const fullText = (name: string, { active, limit }: GroupUse): string =>
  `'${name}' has ${active} of at most ${limit}`;
