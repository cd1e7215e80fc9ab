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
      // The place is handed over, so that nobody who comes now gets ahead of the line.
      const next = this.line.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
