/** Clocks of instances differ by less, and so do times that are read one after the other. */
export const aheadMillis = 1_000;

/**
 * Whether so much time has gone by since a moment that was noted. One that lies in the future was noted by a clock that has been
 * set back since: how long ago it was is not known, and nothing waits until the clock is there again.
 */
export const hasPassed = (since: number, millis: number, now: number): boolean =>
  now - since >= millis || since - now > aheadMillis;
