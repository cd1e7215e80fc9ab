/**
 * Gathers what comes from many sides while an earlier batch is being written, so that it is written together. One batch
 * at a time, in the order in which things came.
 */
export class Gathered<T> {
  private waiting: { items: readonly T[]; resolve: () => void; reject: (cause: unknown) => void }[] = [];
  private writing = false;

  constructor(
    /** Most items in a batch, unless one call brings more. */
    private readonly most: number,
    private readonly write: (items: T[]) => Promise<void>,
  ) {}

  /** Resolves when these are written; fails when their batch could not be. */
  add(items: readonly T[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ items, resolve, reject });
      if (!this.writing) void this.writeAll();
    });
  }

  private async writeAll(): Promise<void> {
    this.writing = true;
    // What else comes in this turn of the event loop goes along.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.nextBatch();
      try {
        await this.write(batch.flatMap(({ items }) => items));
        for (const { resolve } of batch) resolve();
      } catch (cause) {
        for (const { reject } of batch) reject(cause);
      }
    }
    this.writing = false;
  }

  private nextBatch(): typeof this.waiting {
    let [calls, items] = [0, 0];
    while (calls < this.waiting.length && (calls === 0 || items + this.waiting[calls]!.items.length <= this.most)) {
      items += this.waiting[calls]!.items.length;
      calls += 1;
    }
    return this.waiting.splice(0, calls);
  }
}
