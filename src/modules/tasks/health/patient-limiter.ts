import type { TimedQueue } from './timed-queue.js';

export interface Limits {
  /** Jobs that are busy at once. */
  busy: number;
  /** Milliseconds after which a job counts as waiting for somebody else, and no more as busy. */
  patienceMillis: number;
  /** Jobs at once, busy or waiting. */
  open: number;
}

/**
 * Lets a bounded number of jobs be busy at once; the others stand in line, first come first served. A job that takes
 * long gives its place to the next: a hundred that hang hold up nobody. Even of those there is a most.
 */
export class PatientLimiter {
  private busy = 0;
  private open = 0;
  private readonly line: (() => void)[] = [];

  constructor(
    private readonly limits: Limits,
    private readonly timers: TimedQueue,
  ) {}

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.isFree && this.line.length === 0) this.enter();
    else await new Promise<void>((resolve) => this.line.push(resolve));
    let isBusy = true;
    const yieldPlace = () => {
      if (isBusy) this.busy -= 1;
      isBusy = false;
      this.admit();
    };
    const cancel = this.timers.after(this.limits.patienceMillis, yieldPlace);
    try {
      return await job();
    } finally {
      cancel();
      this.open -= 1;
      yieldPlace();
    }
  }

  private get isFree(): boolean {
    return this.busy < this.limits.busy && this.open < this.limits.open;
  }

  private enter(): void {
    this.busy += 1;
    this.open += 1;
  }

  /** The place is taken for whoever is next before he goes on, so that nobody who comes now gets ahead of the line. */
  private admit(): void {
    while (this.line.length > 0 && this.isFree) {
      this.enter();
      this.line.shift()!();
    }
  }
}
