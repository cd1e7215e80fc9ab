/** Asks until the answer is not undefined or false. Fails with what was awaited, and what was seen last, after the time. */
export async function waitFor<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  { timeoutMs = 30_000, everyMs = 50 } = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = answer;
    } catch (cause) {
      last = cause;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  } while (Date.now() < deadline);
  throw new Error(`Waited ${timeoutMs} ms in vain for ${what}; last: ${String(last)}`);
}
