/** Items that one sender brought at a time. */
interface Group<T> {
  sender: string;
  items: readonly T[];
  done: () => void;
  failed: (cause: unknown) => void;
}

/**
 * Brings together what many senders bring: whatever arrives while a batch is being written goes with the next one. So a
 * single item waits for no other, and thousands of senders with one item each share a few transactions. With two lanes two
 * batches are written at a time, to keep the database busy while the next one is made ready; one sender is never in both,
 * so what it brings stays in order.
 */
export class BatchLanes<T> {
  private readonly waiting = new Set<Group<T>>();
  private readonly writing = new Set<string>();
  private freeLanes: number;
  private isPlanned = false;

  constructor(
    /** Most items in a batch, unless one call brings more. */
    private readonly batchSize: number,
    lanes: number,
    private readonly write: (items: T[]) => Promise<void>,
  ) {
    this.freeLanes = lanes;
  }

  /** Number of items that are not in a batch yet. */
  get backlog(): number {
    let count = 0;
    for (const { items } of this.waiting) count += items.length;
    return count;
  }

  /** Resolves when they are written; fails when their batch could not be. */
  add(sender: string, items: readonly T[]): Promise<void> {
    if (items.length === 0) return Promise.resolve();
    return new Promise((done, failed) => {
      this.waiting.add({ sender, items, done, failed });
      this.plan();
    });
  }

  /** After what is already at hand has been taken in: several senders often come in one turn. */
  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      while (this.freeLanes > 0) {
        const groups = this.nextBatch();
        if (groups.length === 0) return;
        this.freeLanes -= 1;
        void this.writeGroups(groups);
      }
    });
  }

  private nextBatch(): Group<T>[] {
    const batch: Group<T>[] = [];
    const senders = new Set<string>();
    let room = this.batchSize;
    for (const group of this.waiting) {
      if (this.writing.has(group.sender)) continue;
      if (batch.length > 0 && group.items.length > room) break;
      room -= group.items.length;
      batch.push(group);
      senders.add(group.sender);
      this.waiting.delete(group);
      if (room <= 0) break;
    }
    for (const sender of senders) this.writing.add(sender);
    return batch;
  }

  private async writeGroups(groups: readonly Group<T>[]): Promise<void> {
    try {
      await this.write(groups.flatMap(({ items }) => items));
      for (const { done } of groups) done();
    } catch (cause) {
      for (const { failed } of groups) failed(cause);
    }
    for (const { sender } of groups) this.writing.delete(sender);
    this.freeLanes += 1;
    this.plan();
  }
}
