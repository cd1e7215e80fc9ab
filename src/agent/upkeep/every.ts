import { setTimeout as delay } from 'timers/promises';
import type { Log } from '../../platform/log.js';

/** The pause begins when the work has ended; work that failed is done again after it. */
export async function every(
  millis: number,
  what: string,
  context: { stopping: AbortSignal; log: Log },
  work: () => Promise<void>,
): Promise<void> {
  while (!context.stopping.aborted) {
    await work().catch((cause: unknown) => context.log.error(`Could not ${what}`, cause));
    await delay(millis, undefined, { signal: context.stopping, ref: false }).catch(() => undefined);
  }
}
