import { setMaxListeners } from 'node:events';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { groupBy } from '../core/group-by.js';

/** After so many items other work of the process gets its turn: items that wait for nothing would keep it out. */
const itemsPerTurn = 32;

interface ParallelRules {
  /** The first failure ends it: no further item is begun. Otherwise the rest is done, and the failure is thrown then. */
  stopAtFailure?: boolean;
  /** Called before each item; true: the rest is left undone. */
  isEnough?: () => boolean;
}

/** Does the work for every item, for so many at a time, and answers the results in the order of the items. */
export function inParallel<T, R>(
  items: readonly T[],
  atMost: number,
  work: (item: T) => Promise<R>,
  rules?: ParallelRules & { isEnough?: undefined },
): Promise<R[]>;

/** Results of items that were left undone are undefined. */
export function inParallel<T, R>(
  items: readonly T[],
  atMost: number,
  work: (item: T) => Promise<R>,
  rules: ParallelRules,
): Promise<(R | undefined)[]>;
export async function inParallel<T, R>(
  items: readonly T[],
  atMost: number,
  work: (item: T) => Promise<R>,
  { stopAtFailure = false, isEnough = () => false }: ParallelRules = {},
): Promise<(R | undefined)[]> {
  const results: (R | undefined)[] = items.map(() => undefined);
  const failures: unknown[] = [];
  const queue = items.entries();
  const isOver = () => (stopAtFailure && failures.length > 0) || isEnough();
  const worker = async () => {
    for (let done = 1; !isOver(); done++) {
      const next = queue.next();
      if (next.done) return;
      const [index, item] = next.value;
      try {
        results[index] = await work(item);
      } catch (cause) {
        failures.push(cause);
        if (stopAtFailure) throw cause;
      }
      if (done % itemsPerTurn === 0) await othersTurn();
    }
  };
  await Promise.all(Array.from({ length: Math.min(atMost, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}

interface FairRules<T> {
  groupOf: (item: T) => string | undefined;
  /** Items of one group that are worked on at a time. */
  atMost: number;
  /** No item is begun later than so many milliseconds after the begin: its result is undefined. */
  forMillis: number;
}

/** Does the work for every item, in the order of the items. Groups do not wait for each other, however long the items of one take. */
export async function fairly<T, R>(
  items: readonly T[],
  { groupOf, atMost, forMillis }: FairRules<T>,
  work: (item: T) => Promise<R>,
): Promise<(R | undefined)[]> {
  const end = performance.now() + forMillis;
  const results: (R | undefined)[] = items.map(() => undefined);
  const groups = groupBy(items.entries(), ([, item]) => groupOf(item) ?? '');
  const isEnough = () => performance.now() >= end;
  const done = await Promise.allSettled(
    [...groups.values()].map((own) =>
      inParallel(own, atMost, async ([index, item]) => (results[index] = await work(item)), { isEnough }),
    ),
  );
  const failed = done.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
  return results;
}

export const isPromise = (value: unknown): value is Promise<unknown> => value instanceof Promise;

/** With what is there already at once: a promise costs more than most of what it is waited for with. */
export const andThen = <Value, Made>(
  value: Value | Promise<Value>,
  work: (value: Value) => Made | Promise<Made>,
): Made | Promise<Made> => (value instanceof Promise ? value.then(work) : work(value));

/** Lets so many works go on at a time, whoever asks; the others wait for their turn, in the order in which they came. */
export function atATime(atMost: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = atMost;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** The promise, or a rejection with the signal's reason if that comes first. Nothing is left behind on the signal. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    const settle = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(settle);
  });
}

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

/** Work under the same key runs one after the other; under different keys at the same time. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.last.get(key) ?? Promise.resolve();
    const result = previous.catch(() => undefined).then(work);
    this.last.set(key, result);
    const forget = () => {
      if (this.last.get(key) === result) this.last.delete(key);
    };
    result.then(forget, forget);
    return result;
  }

  /** Resolves when everything that was asked for until now is done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.last.values());
  }
}
