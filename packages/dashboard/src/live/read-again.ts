import type { Query, QueryClient } from '@tanstack/react-query';

/**
 * Reads again what is shown of these keys. A read that is under way may have been answered before the change, so another one follows
 * it: by itself the library would take its answer for the present state. It is not broken off either: where changes come faster
 * than answers, none would ever be shown.
 */
export async function readAgain(queries: QueryClient, queryKey: readonly unknown[] = []): Promise<void> {
  const underWay: ReadonlySet<Query> = new Set(queries.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching' }));
  await queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
  if (underWay.size === 0) return;
  await queries.invalidateQueries({ queryKey, predicate: (query) => underWay.has(query) }, { cancelRefetch: false });
}
