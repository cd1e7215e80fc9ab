import { SharedRead } from './shared-read.js';

/** Batches under way at once: while the database works for one, the process makes answers of the other. */
const lanes = 2;

/** Reads by key: what is asked for while batches are under way is read together in the next one. */
export class BatchedRead<Key, Value> {
  private readonly lanes: readonly Lane<Key, Value>[];

  constructor(read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {
    this.lanes = Array.from({ length: lanes }, () => new Lane(read));
  }

  /** undefined: there is nothing under this key. */
  ask(key: Key): Promise<Value | undefined> {
    const lane =
      this.lanes.find(({ isIdle }) => isIdle) ?? this.lanes.reduce((a, b) => (b.waiting < a.waiting ? b : a));
    return lane.ask(key);
  }
}

class Lane<Key, Value> {
  private wanted = new Set<Key>();
  private readonly batch: SharedRead<ReadonlyMap<Key, Value>>;

  constructor(read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {
    this.batch = new SharedRead(() => {
      const keys = [...this.wanted];
      this.wanted = new Set();
      return read(keys);
    });
  }

  get isIdle(): boolean {
    return this.batch.isIdle;
  }

  get waiting(): number {
    return this.wanted.size;
  }

  async ask(key: Key): Promise<Value | undefined> {
    this.wanted.add(key);
    return (await this.batch.ask()).get(key);
  }
}
