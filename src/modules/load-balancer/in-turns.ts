/** Calls to the load balancer in flight at once: enough to get through a long queue, too few to be a burden to it. */
const most = 16;

/**
 * Does a job for each item, a few at a time. One that fails does not keep the others from being done; the first failure is thrown
 * in the end.
 */
export async function inTurns<T>(items: readonly T[], job: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const work = async () => {
    for (const item of waiting) await job(item).catch((cause: unknown) => failures.push(cause));
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, work));
  if (failures.length > 0) throw failures[0];
}
