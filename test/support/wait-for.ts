import { setTimeout as delay } from 'node:timers/promises';

/** Polls until `condition` answers something truthy, and answers that. Fails, naming `what`, when time is up. */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
  { timeoutMillis = 30_000, everyMillis = 20 } = {},
): Promise<Exclude<NonNullable<T>, false>> {
  const deadline = performance.now() + timeoutMillis;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await condition();
      if (answer) return answer as Exclude<NonNullable<T>, false>;
      lastError = undefined;
    } catch (cause) {
      lastError = cause;
    }
    if (performance.now() > deadline)
      throw new Error(`Waited ${timeoutMillis} ms in vain for ${what}`, { cause: lastError });
    await delay(everyMillis);
  }
}
