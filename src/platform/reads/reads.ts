import { setImmediate as callsTaken } from 'node:timers/promises';

/**
 * A read that callers share. At most one is under way; calls that come meanwhile share the next one, so that no answer is
 * older than its question. Where none is under way it begins when the calls that came together have been taken.
 */
export class SharedRead<Value> {
  private running: Promise<void> | undefined;
  private next: Promise<Value> | undefined;

  constructor(private readonly read: () => Promise<Value>) {}

  ask(): Promise<Value> {
    return (this.next ??= this.begin());
  }

  get isIdle(): boolean {
    return this.running === undefined && this.next === undefined;
  }

  private async begin(): Promise<Value> {
    await (this.running ?? callsTaken());
    this.next = undefined;
    // Within a function of its own: what it throws at once is a failed read as well.
    const value = (async () => this.read())();
    const ended = (): void => {
      this.running = undefined;
    };
    this.running = value.then(ended, ended);
    return value;
  }
}

/** One shared read per key: those who ask with the same key get the same answer. */
export class SharedReads<Value> {
  private readonly reads = new Map<string, SharedRead<Value>>();

  async ask(key: string, read: () => Promise<Value>): Promise<Value> {
    const shared = this.reads.get(key) ?? new SharedRead(read);
    this.reads.set(key, shared);
    try {
      return await shared.ask();
    } finally {
      if (shared.isIdle && this.reads.get(key) === shared) this.reads.delete(key);
    }
  }

  /** Keys that a caller waits for. */
  get size(): number {
    return this.reads.size;
  }
}

/** Batches under way at once: while the database works for one, the process makes answers of the other. */
const mostBatches = 2;

/** Reads by key: what is asked for together, or while batches are under way, is read together. */
export class BatchedRead<Key, Value> {
  private wanted = new Set<Key>();
  private next: Promise<ReadonlyMap<Key, Value>> | undefined;
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {}

  /** undefined: there is nothing under this key. */
  ask(key: Key): Promise<Value | undefined> {
    this.wanted.add(key);
    this.next ??= this.begin();
    return this.next.then((found) => found.get(key));
  }

  private async begin(): Promise<ReadonlyMap<Key, Value>> {
    await (this.underWay.size < mostBatches ? callsTaken() : Promise.race(this.underWay));
    const keys = [...this.wanted];
    this.wanted = new Set();
    this.next = undefined;
    const found = (async () => this.read(keys))();
    const ended = (): void => void this.underWay.delete(end);
    const end = found.then(ended, ended);
    this.underWay.add(end);
    return found;
  }
}
