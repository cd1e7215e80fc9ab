/** Clocks of instances differ by less, and so do times that are read one after the other. */
export const aheadMillis = 1_000;

/**
 * True when `millis` have passed since a recorded time. A time that lies in the future was recorded by a clock that has
 * been set back since: its age is unknown, and nothing waits until the clock is there again.
 */
export const hasPassed = (since: number, millis: number, now: number): boolean =>
  now - since >= millis || since - now > aheadMillis;
