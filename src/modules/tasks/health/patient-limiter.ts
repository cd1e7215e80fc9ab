import type { TimedQueue } from './timed-queue.js';

export interface Limits {
  /** Jobs that are busy at once. */
  busy: number;
  /** Milliseconds after which a job counts as waiting for another machine, and no more as busy. */
  patienceMillis: number;
  /** Jobs at once, busy or waiting. */
  open: number;
}

/**
 * Lets a bounded number of jobs be busy at once; the others stand in line, first come first served. A job that takes
 * long gives its place to the next: a hundred that hang do not hold up the others. Their number is limited, too.
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

  /** The place is taken for the next job before that one goes on, so that a job that comes now does not get ahead of the line. */
  private admit(): void {
    while (this.line.length > 0 && this.isFree) {
      this.enter();
      this.line.shift()!();
    }
  }
}

/** Lets a bounded number of jobs run at once; the others wait in line, first come first served. */
export class Limiter {
  private running = 0;
  private readonly line: (() => void)[] = [];

  constructor(private readonly most: number) {}

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.running >= this.most) await new Promise<void>((resolve) => this.line.push(resolve));
    else this.running += 1;
    try {
      return await job();
    } finally {
      // The place is handed over, so that a job that comes now does not get ahead of the line.
      const next = this.line.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
