import type { PollerOptions } from '../../src/platform/poller/poller.js';
import { addToWakeSet, type Wake, type WakeSet } from '../../src/platform/wake/wake.js';

interface Timer {
  options: PollerOptions;
  wanted: WakeSet | undefined;
  regularAt: number;
  /** The moment that the last pass named. */
  alarmAt: number;
}

/** More passes of one poller at one moment than anything needs. */
const mostPassesAtOnce = 100;

/** The pollers of a context on a virtual clock: woken ones and those whose time has come run, nothing else does. */
export class VirtualPollers {
  private readonly timers: Timer[];

  /** Timers shorter than `shortestMillis` are stretched to it: signals, not timers, are what makes things go on. */
  constructor(
    pollers: readonly PollerOptions[],
    wake: Wake,
    now: number,
    private readonly shortestMillis: number,
  ) {
    this.timers = pollers.map((options) => ({
      options,
      wanted: 'all',
      regularAt: now + this.period(options),
      alarmAt: Number.POSITIVE_INFINITY,
    }));
    for (const timer of this.timers) {
      const { wakeOn = [], takesKeys } = timer.options;
      for (const topic of wakeOn) {
        wake.on(topic, (keys) => (timer.wanted = addToWakeSet(timer.wanted, takesKeys ? keys : undefined)));
      }
    }
  }

  get nextAt(): number {
    return Math.min(
      ...this.timers.map(({ wanted, regularAt, alarmAt }) => (wanted ? 0 : Math.min(regularAt, alarmAt))),
    );
  }

  /** Runs what is due, and what that wakes, until nothing is left to do at this moment. */
  async runDue(now: number, settled: () => Promise<unknown>): Promise<void> {
    for (let passes = 0; this.timers.some((timer) => isDue(timer, now)); passes++) {
      if (passes === mostPassesAtOnce) throw new Error(`The pollers ${this.busy(now).join(', ')} never come to rest`);
      for (const timer of this.timers) if (isDue(timer, now)) await this.run(timer, now);
      await settled();
    }
  }

  private async run(timer: Timer, now: number): Promise<void> {
    const { options, regularAt } = timer;
    const wanted = addToWakeSet(timer.wanted, options.takesKeys && regularAt > now ? [] : undefined);
    timer.wanted = undefined;
    const next = await options.pass(now, wanted === 'all' ? undefined : wanted);
    if (wanted === 'all') timer.regularAt = now + this.period(options);
    timer.alarmAt = typeof next === 'number' ? Math.max(next, now + 1) : Number.POSITIVE_INFINITY;
  }

  private busy(now: number): string[] {
    return this.timers.filter((timer) => isDue(timer, now)).map(({ options }) => options.name);
  }

  private period({ everyMs }: PollerOptions): number {
    return everyMs < 1 ? Number.POSITIVE_INFINITY : Math.max(everyMs, this.shortestMillis);
  }
}

const isDue = ({ wanted, regularAt, alarmAt }: Timer, now: number): boolean =>
  wanted !== undefined || Math.min(regularAt, alarmAt) <= now;
