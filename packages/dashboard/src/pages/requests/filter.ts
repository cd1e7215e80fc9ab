import type { RequestParent, RequestUtilization } from 'muster-client';
import { matcherOf } from '../../ui/find';
import type { Trouble } from '../../live/troubles';

/** The filters of the list, as they stand in its address. */
export interface Filters {
  readonly q?: string | undefined;
  /** A state of requests, or one of those that `isInState` derives. */
  readonly state?: string | undefined;
  /** Types with a comma between them. */
  readonly type?: string | undefined;
  readonly group?: string | undefined;
  readonly mine?: string | undefined;
}

export interface Context {
  readonly starred: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly pending: ReadonlySet<string>;
  readonly cleaning: ReadonlySet<string>;
  readonly usage: ReadonlyMap<string, RequestUtilization>;
  readonly troublesOf: (parent: RequestParent) => readonly Trouble[];
}

export const deployUser = (parent: RequestParent): string => parent.requestDeployState?.activeDeploy?.user ?? '';

/** The requests that pass all filters; with a search, those that match best come first. */
export function filtered(rows: readonly RequestParent[], filters: Filters, context: Context): readonly RequestParent[] {
  const types = new Set(filters.type?.split(',').filter((type) => type !== '' && type !== 'all'));
  const kept = rows.filter(
    (row) =>
      isInState(row, filters.state, context) &&
      (types.size === 0 || types.has(row.request.requestType)) &&
      (!filters.group || row.request.group === filters.group) &&
      (!filters.mine || isMine(row, context)),
  );
  if (!filters.q) return kept;
  const match = matcherOf(filters.q);
  const ranked: { row: RequestParent; rank: number }[] = [];
  for (const row of kept) {
    const byUser = deployUser(row).toLowerCase().includes(filters.q.toLowerCase()) ? 4 : undefined;
    const rank = match(row.request.id) ?? byUser;
    if (rank !== undefined) ranked.push({ row, rank });
  }
  return ranked.sort((a, b) => a.rank - b.rank).map(({ row }) => row);
}

function isInState(row: RequestParent, state: string | undefined, context: Context): boolean {
  switch (state) {
    case undefined:
    case '':
    case 'all':
      return true;
    case 'pending':
      return context.pending.has(row.request.id);
    case 'cleaning':
      return context.cleaning.has(row.request.id);
    case 'deploying':
      return row.requestDeployState?.pendingDeploy !== undefined;
    case 'activeDeploy':
      return row.requestDeployState?.activeDeploy !== undefined;
    case 'noDeploy':
      return row.requestDeployState?.activeDeploy === undefined;
    case 'failing':
      return context.troublesOf(row).length > 0;
    case 'cpuOver':
    case 'cpuUnder':
    case 'memoryUnder':
    case 'diskUnder':
      return isUsed(state, context.usage.get(row.request.id));
    default:
      return row.state === state;
  }
}

/** Less than half of what is set aside counts as too little. */
const UNDER = 0.5;

function isUsed(
  state: 'cpuOver' | 'cpuUnder' | 'memoryUnder' | 'diskUnder',
  usage: RequestUtilization | undefined,
): boolean {
  if (!usage || usage.numTasks === 0) return false;
  if (state === 'cpuOver') return usage.cpuUsed > usage.cpuReserved;
  if (state === 'cpuUnder') return usage.cpuUsed < usage.cpuReserved * UNDER;
  if (state === 'memoryUnder') return usage.memBytesUsed < usage.memBytesReserved * UNDER;
  return usage.diskBytesUsed < usage.diskBytesReserved * UNDER;
}

const isMine = ({ request }: RequestParent, { starred, groups }: Context): boolean =>
  starred.has(request.id) ||
  [request.group, ...(request.readWriteGroups ?? [])].some((group) => group !== undefined && groups.has(group));

/** Instances that are healthy of those there should be: known for rows that were read one by one. */
export function healthOf({ request, taskIds }: RequestParent): { healthy: number; wanted: number } | undefined {
  if (taskIds === undefined) return undefined;
  return { healthy: taskIds.healthy.length, wanted: request.instances ?? 1 };
}
