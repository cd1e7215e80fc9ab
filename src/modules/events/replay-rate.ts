import { SchedulerError } from '../../platform/errors.js';

const minuteMillis = 60_000;

/** Allowance of one caller; it fills up evenly within a minute. */
interface Allowance {
  left: number;
  /** By the monotonic clock. */
  at: number;
}

/**
 * A replay reads what was missed from the database, however short the stream is that asks for it: a limit of open streams says
 * nothing about that. So each caller may begin so many a minute, all of them at once if need be, as after a restart.
 */
export class ReplayRate {
  private readonly callers = new Map<string, Allowance>();

  constructor(private readonly perMinute: number) {}

  /** Throws where the caller has begun as many as may be. */
  take(caller: string, now: number): void {
    const left = this.leftOf(caller, now);
    if (left < 1) {
      const seconds = Math.ceil(((1 - left) * minuteMillis) / this.perMinute / 1_000);
      const message = `You have resumed the event stream ${this.perMinute} times within a minute, which is the limit (events.maxReplaysPerMinute); try again in ${seconds} s`;
      throw new SchedulerError('TOO_MANY_STREAMS', message);
    }
    this.callers.set(caller, { left: left - 1, at: now });
    if (this.callers.size > mostCallers) this.forget(now);
  }

  private leftOf(caller: string, now: number): number {
    const known = this.callers.get(caller);
    if (!known) return this.perMinute;
    return Math.min(this.perMinute, known.left + ((now - known.at) * this.perMinute) / minuteMillis);
  }

  private forget(now: number): void {
    for (const caller of this.callers.keys())
      if (this.leftOf(caller, now) >= this.perMinute) this.callers.delete(caller);
  }
}

/** From here on those whose allowance is whole again are forgotten. */
const mostCallers = 10_000;
