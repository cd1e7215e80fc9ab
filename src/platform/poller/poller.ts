import { CronJob } from 'cron';
import type { PollerOptions } from './pollers.js';

/** Half of what lies between two ticks: a pass runs at the tick that is nearest to the end of its period. */
const halfTickMillis = 500;
/** A timer of Node holds no more. */
const longestTimerMillis = 2 ** 31 - 1;

interface Surroundings {
  now: () => number;
  mayRun: () => boolean;
  failed: (cause: unknown) => void;
}

/**
 * One repeated pass. A cron job ticks every second (45 s cannot be said in a cron expression); a pass runs at the tick
 * nearest to the end of its period, counted from when the last one ended, at the moment that the last pass named, or at once
 * when woken. Passes never overlap: a wake during a pass means one more pass. A failed pass is reported and the next one runs.
 */
export class Poller {
  readonly job: CronJob;
  private running: Promise<void> | undefined;
  private alarm: NodeJS.Timeout | undefined;
  private wanted = false;
  private stopped = false;
  private lastEndedAt: number;
  private failuresInRow = 0;
  private passes = 0;
  private failures = 0;
  private lastError: string | undefined;

  constructor(
    private readonly options: PollerOptions,
    private readonly around: Surroundings,
  ) {
    this.lastEndedAt = around.now();
    this.job = CronJob.from({
      name: options.name,
      cronTime: '* * * * * *',
      waitForCompletion: true,
      onTick: () => this.tick(),
    });
  }

  private async tick(): Promise<void> {
    const { everyMs } = this.options;
    if (everyMs >= 1 && this.around.now() - this.lastEndedAt >= everyMs - halfTickMillis) this.wake();
    await this.running;
  }

  /** Runs a pass at once, or one more after the pass in flight. */
  wake(): void {
    if (this.stopped || !this.around.mayRun()) return;
    this.wanted = true;
    this.running ??= this.runWhileWanted().finally(() => {
      this.running = undefined;
    });
  }

  private async runWhileWanted(): Promise<void> {
    while (this.wanted && !this.stopped && this.around.mayRun()) {
      this.wanted = false;
      this.passes += 1;
      try {
        this.setAlarm(await this.options.pass(this.around.now()));
        this.failuresInRow = 0;
        this.lastError = undefined;
      } catch (cause) {
        this.failuresInRow += 1;
        this.failures += 1;
        this.lastError = cause instanceof Error ? cause.message : String(cause);
        this.around.failed(cause);
      }
      this.lastEndedAt = this.around.now();
    }
    this.wanted = false;
  }

  private setAlarm(at: number | undefined | void): void {
    clearTimeout(this.alarm);
    if (at === undefined || this.stopped) return;
    const wait = Math.min(Math.max(at - this.around.now(), 0), longestTimerMillis);
    this.alarm = setTimeout(() => this.wake(), wait).unref();
  }

  /** No new pass; resolves when the one in flight has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.alarm);
    await this.job.stop();
    await this.running;
  }

  /** Passes since the start, and how many of them failed. */
  figures(): { name: string; passes: number; failures: number } {
    return { name: this.options.name, passes: this.passes, failures: this.failures };
  }

  state(): { name: string; failuresInRow: number; lastError?: string } {
    return { name: this.options.name, failuresInRow: this.failuresInRow, lastError: this.lastError };
  }
}
