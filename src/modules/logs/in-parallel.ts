import { setImmediate as breath } from 'node:timers/promises';

export interface ParallelWork<T, R> {
  items: readonly T[];
  /** How many at a time. */
  atMost: number;
  work: (item: T) => Promise<R>;
  /** Asked before each item; true: the rest is left undone. */
  isEnough?: () => boolean;
}

/** After so many items other calls get their turn: signing needs no waiting, so that nothing else would run meanwhile. */
const breathEvery = 32;

/**
 * Does the work for the items and answers the results in their order, undefined for what was left undone. The first
 * failure ends it: no further item is begun.
 */
export async function inParallel<T, R>({
  items,
  atMost,
  work,
  isEnough = () => false,
}: ParallelWork<T, R>): Promise<(R | undefined)[]> {
  const results: (R | undefined)[] = items.map(() => undefined);
  const queue = items.entries();
  let failed = false;
  const worker = async () => {
    let done = 0;
    while (!failed && !isEnough()) {
      const next = queue.next();
      if (next.done) return;
      const [index, item] = next.value;
      results[index] = await work(item);
      if (++done % breathEvery === 0) await breath();
    }
  };
  const workers = Array.from({ length: Math.min(atMost, items.length) }, () =>
    worker().catch((cause: unknown) => {
      failed = true;
      throw cause;
    }),
  );
  await Promise.all(workers);
  return results;
}
