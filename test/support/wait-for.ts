import { setTimeout as delay } from 'node:timers/promises';

const shortestPauseMillis = 20;
const longestPauseMillis = 250;

/**
 * Polls until `condition` answers something truthy, and answers that. Fails, naming `what`, when time is up. Unless `everyMillis` says
 * otherwise, a pause is nine times as long as the look before it: looks leave the machine to what they wait for.
 */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
  { timeoutMillis = 30_000, everyMillis }: { timeoutMillis?: number; everyMillis?: number } = {},
): Promise<Exclude<NonNullable<T>, false>> {
  const deadline = performance.now() + timeoutMillis;
  let lastError: unknown;
  for (;;) {
    const begun = performance.now();
    try {
      const answer = await condition();
      if (answer) return answer as Exclude<NonNullable<T>, false>;
      lastError = undefined;
    } catch (cause) {
      lastError = cause;
    }
    const now = performance.now();
    if (now > deadline) throw new Error(`Waited ${timeoutMillis} ms in vain for ${what}`, { cause: lastError });
    await delay(everyMillis ?? Math.min(longestPauseMillis, Math.max(shortestPauseMillis, 9 * (now - begun))));
  }
}
