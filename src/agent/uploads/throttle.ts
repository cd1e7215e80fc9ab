import { setTimeout as delay } from 'node:timers/promises';

/** At most so many bytes per second, of all that share it. */
export class Throttle {
  /** On the clock of performance.now: until then everything is given away. */
  private nextAt = 0;

  constructor(private readonly bytesPerSecond: number) {}

  /** Resolves when it is the turn of these bytes. */
  async take(bytes: number): Promise<void> {
    const now = performance.now();
    const wait = this.nextAt - now;
    this.nextAt = Math.max(now, this.nextAt) + (bytes / this.bytesPerSecond) * 1_000;
    if (wait > 0) await delay(wait);
  }
}
