import { setMaxListeners } from 'node:events';

/**
 * Does the work with a signal that aborts with the first of `sources`, for its reason. AbortSignal.any of Node.js does not serve: it lets
 * a time limit that nothing else refers to be collected, and never aborts by it (nodejs/node#57736), and a source that lasts keeps a
 * note of each signal made of it.
 */
export async function withSignal<T>(
  sources: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const first = new AbortController();
  const abort = ({ target }: Event) => first.abort((target as AbortSignal).reason);
  const heard = sources.filter((source) => source !== undefined);
  for (const source of heard) {
    if (source.aborted) first.abort(source.reason);
    // It may be one that all work of its time hears of.
    setMaxListeners(0, source);
    source.addEventListener('abort', abort, { once: true });
  }
  try {
    return await work(first.signal);
  } finally {
    for (const source of heard) source.removeEventListener('abort', abort);
  }
}
