import type { CallOptions } from 'rest-contract/client';
import type { Muster } from '../generated/operations.js';
import type { DeployHistory, RequestHistory, TaskIdHistory } from '../generated/records.js';

type ArgsOf<F> = F extends (args: infer A, ...rest: never[]) => unknown
  ? Omit<NonNullable<A>, 'page' | 'count'>
  : never;

export interface PageOptions {
  readonly signal?: AbortSignal | undefined;
  /** Number of elements that are asked for at once: at most 1000, 500 unless given. */
  readonly pageSize?: number | undefined;
}

const PAGE_SIZE = 500;

/** The ended tasks of all requests, or of one, page by page: those first that ended last, unless ordered otherwise. */
export const endedTasks = (
  muster: Muster,
  query: ArgsOf<Muster['history']['tasks']> = {},
  options: PageOptions = {},
): AsyncGenerator<TaskIdHistory, void, undefined> =>
  pages(
    (page, call) => muster.history.tasks({ ...query, ...page }, call),
    ({ taskId }) => taskId.id,
    options,
  );

/** All deploys of a request, the newest first. */
export const pastDeploys = (
  muster: Muster,
  query: ArgsOf<Muster['history']['deploys']>,
  options: PageOptions = {},
): AsyncGenerator<DeployHistory, void, undefined> =>
  pages(
    (page, call) => muster.history.deploys({ ...query, ...page }, call),
    ({ deployMarker }) => deployMarker.deployId,
    options,
  );

/** All changes of a request, the newest first unless ordered otherwise. */
export const requestChanges = (
  muster: Muster,
  query: ArgsOf<Muster['history']['changes']>,
  options: PageOptions = {},
): AsyncGenerator<RequestHistory, void, undefined> =>
  pages(
    (page, call) => muster.history.changes({ ...query, ...page }, call),
    (change) => JSON.stringify([change.createdAt, change.eventType, change.user, change.message]),
    options,
  );

type Page = { readonly page: number; readonly count: number };

/**
 * Reads all pages. New elements move the others to later pages: of two pages that overlap, each element is told once.
 * The last two pages are remembered, not all.
 */
async function* pages<T>(
  read: (page: Page, call: CallOptions) => Promise<readonly T[]>,
  keyOf: (element: T) => string,
  { signal, pageSize = PAGE_SIZE }: PageOptions,
): AsyncGenerator<T, void, undefined> {
  let before: ReadonlySet<string> = new Set();
  for (let page = 1; ; page++) {
    const elements = await read({ page, count: pageSize }, { signal });
    const keys = new Set<string>();
    for (const element of elements) {
      const key = keyOf(element);
      if (before.has(key) || keys.has(key)) continue;
      keys.add(key);
      yield element;
    }
    if (elements.length < pageSize) return;
    before = new Set(elements.map(keyOf));
  }
}
