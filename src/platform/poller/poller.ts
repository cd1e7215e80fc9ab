import { addToWakeSet, type WakeKeys, type WakeSet, type WakeTopic } from '../wake/wake.js';
import type { ActionType } from '../../core/model/enums.js';

/** Half of what lies between two ticks: a pass runs at the tick that is nearest to the end of its period. */
const halfTickMillis = 500;

/** A timer of Node holds no more. */
const longestTimerMillis = 2 ** 31 - 1;

/**
 * An essential poller that fails for so long has this instance say that it is not ready. A deadlock or a change of leaders is
 * over with the next pass; what fails for two of the scheduler's periods (a full disk, a broken row) needs an operator.
 */
const forgivenMillis = 5_000;
const fewestFailures = 2;

export interface PollerState {
  name: string;
  failuresInRow: number;
  lastError?: string;
  /** The service cannot do its work because of it. */
  stopsService: boolean;
}

interface Surroundings {
  now: () => number;
  mayRun: () => boolean;
  failed: (cause: unknown) => void;
}

/**
 * One repeated pass. `Pollers` ticks every second (periods have settings); a pass runs at the tick
 * nearest to the end of its period, counted from when the last one ended, at the moment that the last pass named, or at once
 * when woken. Passes never overlap: wakes during a pass mean one more pass, which looks at all that they asked for,
 * and a tick during a pass over all means none. A failed pass is reported and the next one runs.
 */
export class Poller {
  private isRunning = false;
  /** The pass in flight is one over all. */
  private looksAtAll = false;
  /** Promise of the newest run. */
  private running: Promise<void> | undefined;
  private alarm: NodeJS.Timeout | undefined;
  /** Records that the next pass is to look at; undefined: none was asked for. */
  private wanted: WakeSet | undefined;
  private stopped = false;
  private lastEndedAt: number;
  private failuresInRow = 0;
  /** Time of the first of the failures in a row. */
  private failingSince = 0;
  private passes = 0;
  private failures = 0;
  private lastError: string | undefined;

  constructor(
    private readonly options: PollerOptions,
    private readonly around: Surroundings,
  ) {
    this.lastEndedAt = around.now();
  }

  tick(): void {
    const { everyMs } = this.options;
    if (this.looksAtAll || everyMs < 1) return;
    const gone = this.around.now() - this.lastEndedAt;
    // Less than nothing: the clock was set back, and how long it has been is not known.
    if (gone >= everyMs - halfTickMillis || gone < 0) this.wake();
  }

  /**
   * Runs a pass at once, or one more after the pass in flight. `keys`: one that takes keys looks at these only, and at what is
   * due by itself.
   */
  wake(keys?: WakeKeys): void {
    if (this.stopped || !this.around.mayRun()) return;
    this.wanted = addToWakeSet(this.wanted, this.options.takesKeys ? keys : undefined);
    if (!this.isRunning) this.running = this.runWhileWanted();
  }

  private async runWhileWanted(): Promise<void> {
    this.isRunning = true;
    while (this.wanted && !this.stopped && this.around.mayRun()) {
      const { wanted } = this;
      this.wanted = undefined;
      this.passes += 1;
      this.looksAtAll = wanted === 'all';
      try {
        this.setAlarm(await this.options.pass(this.around.now(), wanted === 'all' ? undefined : wanted));
        this.failuresInRow = 0;
        this.lastError = undefined;
      } catch (cause) {
        if (this.failuresInRow === 0) this.failingSince = this.around.now();
        this.failuresInRow += 1;
        this.failures += 1;
        this.lastError = cause instanceof Error ? cause.message : String(cause);
        this.around.failed(cause);
      }
      // A pass over some does not put off the one over all.
      if (this.looksAtAll) this.lastEndedAt = this.around.now();
      this.looksAtAll = false;
    }
    // In the same turn as the last look at `wanted`: a wake in between would be lost.
    this.wanted = undefined;
    this.isRunning = false;
  }

  private setAlarm(at: number | undefined | void): void {
    clearTimeout(this.alarm);
    if (at === undefined || this.stopped) return;
    const wait = Math.min(Math.max(at - this.around.now(), 0), longestTimerMillis);
    this.alarm = setTimeout(() => this.wake([]), wait).unref();
  }

  /** No new pass; resolves when the one in flight has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.alarm);
    await this.running;
  }

  /** Passes since the start, and how many of them failed. */
  figures(): { name: string; passes: number; failures: number } {
    return { name: this.options.name, passes: this.passes, failures: this.failures };
  }

  /** One that may not run now, because another instance leads, fails no more. */
  state(): PollerState {
    const failuresInRow = this.around.mayRun() ? this.failuresInRow : 0;
    const failingMillis = this.around.now() - this.failingSince;
    return {
      name: this.options.name,
      failuresInRow,
      lastError: failuresInRow > 0 ? this.lastError : undefined,
      stopsService:
        this.options.essential === true && failuresInRow >= fewestFailures && failingMillis >= forgivenMillis,
    };
  }
}

export interface PollerOptions {
  /** Words in small letters with hyphens between them: so it stands in metrics, /readyz, the log and docs/settings.md. */
  name: string;
  /** Milliseconds between the end of one pass and the start of the next. Below 1: only when woken. */
  everyMs: number;
  /**
   * One pass. Must be safe to repeat: it may run again right after a crash. It may answer a moment (epoch milliseconds)
   * at which it wants to run again, for what is due at a time of its own; the newest answer counts. `keys`: look only at these,
   * and at what is due at a time of its own; undefined: at everything.
   */
  pass: (now: number, keys?: ReadonlySet<string>) => Promise<number | undefined | void>;
  /** The pass heeds `keys`. Others always look at everything. */
  takesKeys?: boolean;
  /** Runs on instances that do not lead as well, while they know the schema. */
  onEveryInstance?: boolean;
  /** The service does not do its work without it: while it keeps failing, /readyz says that this instance is not ready. */
  essential?: boolean;
  /** Topics that make a pass run at once. */
  wakeOn?: WakeTopic[];
  /** While operators have switched this action off, no pass runs. When it comes back, one runs at once. */
  runsWhile?: ActionType;
}
