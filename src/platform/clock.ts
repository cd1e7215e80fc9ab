import { Injectable } from '@nestjs/common';

/**
 * The only source of the time outside src/core (which takes it as an argument), except in agents. It is that of the database in
 * a scheduler (`DatabaseClock`); tests put their own in its place.
 */
@Injectable()
export class Clock {
  /** Epoch milliseconds. */
  now(): number {
    return Date.now();
  }

  /** Milliseconds since any moment: for how long something has lasted, which is the same when a clock is set meanwhile. */
  monotonic(): number {
    return performance.now();
  }

  /** By how much the clock of this machine is ahead of this one. */
  skewMillis(): number {
    return 0;
  }
}
