import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../platform/files.js';
import { backOffMillis } from '../../core/back-off.js';
import { type ApiCall, ApiRefused, type KubernetesApi } from './kubernetes-api.js';
import type { KubernetesList, Metadata } from './objects.js';

const pageSize = 500;

/** The server ends a watch after it; a little later we do, for a connection may be dead without saying so. */
const watchSeconds = 240;

/** Bookmarks come about every minute: after so long without anything the connection is taken for dead. */
const stallMillis = 90_000;
const firstRetryMillis = 100;
/** A watch that lives longer is no part of a row of failures. */
const lastRetryMillis = 10_000;

/** Receiver of the changes of a list. Its calls never overlap. */
export interface ListFollower<T> {
  /** The whole list: what is not in it is gone. */
  replaced(items: T[]): void;
  changed(item: T): void;
  removed(item: T): void;
  /** The server has answered. */
  heard(): void;
  failed(message: string): void;
}

interface WatchEvent<T> {
  type?: string;
  object?: T & { code?: number; message?: string };
}

/** Who wrote which member: the longest part of many objects, which nothing reads here. A follower may keep all objects. */
function withoutWriters<T extends { metadata?: Metadata & { managedFields?: unknown } }>(item: T): T {
  delete item.metadata?.managedFields;
  return item;
}

/** All items, page by page. `path` with what is to be selected in `query`. Throws ApiUnreachable or ApiRefused. */
export async function listAll<T extends { metadata?: Metadata }>(
  api: KubernetesApi,
  path: string,
  query: ApiCall['query'],
  signal?: AbortSignal,
): Promise<{ items: T[]; resourceVersion: string }> {
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    const page: KubernetesList<T> = await api.call(path, {
      query: { ...query, limit: pageSize, continue: token },
      signal,
    });
    items.push(...(page.items ?? []).map(withoutWriters));
    token = page.metadata?.continue || undefined;
    if (token === undefined) return { items, resourceVersion: page.metadata?.resourceVersion ?? '' };
  }
}

/**
 * Follows a list until `signal` ends it: the whole of it, then each change, from the last one on where a watch has ended. Where the
 * server does not know that one any more (410) the list is read anew. Failures are repeated, and lists read anew, ever more rarely and
 * never in step with other schedulers.
 */
export async function followList<T extends { metadata?: Metadata }>(
  api: KubernetesApi,
  { path, query }: { path: string; query: ApiCall['query'] },
  follower: ListFollower<T>,
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined;
  let failuresInRow = 0;
  while (!signal.aborted) {
    let watchedSince = Number.POSITIVE_INFINITY;
    try {
      if (version === undefined) {
        const { items, resourceVersion } = await listAll<T>(api, path, query, signal);
        follower.heard();
        follower.replaced(items);
        version = resourceVersion;
      }
      watchedSince = performance.now();
      version = await watchOnce(version);
      failuresInRow = 0;
    } catch (cause) {
      if (signal.aborted) return;
      const isInRow = performance.now() - watchedSince < lastRetryMillis;
      failuresInRow = isInRow ? failuresInRow + 1 : 1;
      // The list is asked for again: each time it is whole, so a row of these delays what is heard, and loses nothing.
      if (isExpired(cause)) version = undefined;
      else follower.failed(messageOf(cause));
      const pause = backOffMillis(failuresInRow, firstRetryMillis, lastRetryMillis);
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Until it ends. Answers from where to go on. */
  async function watchOnce(from: string): Promise<string | undefined> {
    const over = new AbortController();
    const stop = () => over.abort();
    signal.addEventListener('abort', stop);
    let stalled = setTimeout(stop, stallMillis);
    const startedAt = performance.now();
    let last: string | undefined = from;
    try {
      const events = api.lines(path, {
        query: {
          ...query,
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion: from,
          timeoutSeconds: watchSeconds,
        },
        signal: over.signal,
      });
      for await (const event of events as AsyncIterable<WatchEvent<T>>) {
        clearTimeout(stalled);
        stalled = setTimeout(stop, stallMillis);
        follower.heard();
        last = take(event, last);
      }
    } catch (cause) {
      // What was heard before it broke is not asked for again.
      version = last;
      throw cause;
    } finally {
      clearTimeout(stalled);
      signal.removeEventListener('abort', stop);
    }
    // A server that ends watches at once is not asked without a pause.
    if (performance.now() - startedAt < firstRetryMillis) await delay(firstRetryMillis);
    return last;
  }

  function take({ type, object }: WatchEvent<T>, last: string | undefined): string | undefined {
    if (type === 'ERROR') throw new ApiRefused(object?.code ?? 500, '', object?.message ?? 'the watch failed');
    if (!object) return last;
    withoutWriters(object);
    if (type === 'DELETED') follower.removed(object);
    else if (type === 'ADDED' || type === 'MODIFIED') follower.changed(object);
    return object.metadata?.resourceVersion ?? last;
  }
}

const isExpired = (cause: unknown): boolean =>
  cause instanceof ApiRefused && (cause.status === 410 || cause.status === 504);
