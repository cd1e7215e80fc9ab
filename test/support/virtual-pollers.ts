import type { PollerOptions } from '../../src/platform/poller/pollers.js';
import type { Wake } from '../../src/platform/wake/wake.js';

interface Timer {
  options: PollerOptions;
  woken: boolean;
  nextAt: number;
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
    this.timers = pollers.map((options) => ({ options, woken: true, nextAt: now + this.period(options) }));
    for (const timer of this.timers) {
      for (const topic of timer.options.wakeOn ?? []) wake.on(topic, () => (timer.woken = true));
    }
  }

  get nextAt(): number {
    return Math.min(...this.timers.map(({ woken, nextAt }) => (woken ? 0 : nextAt)));
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
    timer.woken = false;
    const wanted = await timer.options.pass(now);
    const regular = now + this.period(timer.options);
    timer.nextAt = typeof wanted === 'number' ? Math.min(Math.max(wanted, now + 1), regular) : regular;
  }

  private busy(now: number): string[] {
    return this.timers.filter((timer) => isDue(timer, now)).map(({ options }) => options.name);
  }

  private period({ everyMs }: PollerOptions): number {
    return everyMs < 1 ? Number.POSITIVE_INFINITY : Math.max(everyMs, this.shortestMillis);
  }
}

const isDue = ({ woken, nextAt }: Timer, now: number): boolean => woken || nextAt <= now;
