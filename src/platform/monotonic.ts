import { uptime } from 'node:os';

/**
 * Time of the machine's monotonic clock, which all threads of a process read alike: `performance.now()` begins anew in
 * each.
 */
export const monotonicMillis = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Monotonic time of a moment so many seconds after the boot. This clock stands still while the machine sleeps, the
 * uptime does not.
 */
export const monotonicOf = (uptimeSeconds: number): number =>
  monotonicMillis() - Math.max(0, uptime() - uptimeSeconds) * 1_000;
