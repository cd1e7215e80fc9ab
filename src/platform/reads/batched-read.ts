import { SharedRead } from './shared-read.js';

/** Reads by key: what is asked for while a batch is under way is read together in the next one. */
export class BatchedRead<Key, Value> {
  private wanted = new Set<Key>();
  private readonly batch: SharedRead<ReadonlyMap<Key, Value>>;

  constructor(read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {
    this.batch = new SharedRead(() => {
      const keys = [...this.wanted];
      this.wanted = new Set();
      return read(keys);
    });
  }

  /** undefined: there is nothing under this key. */
  async ask(key: Key): Promise<Value | undefined> {
    this.wanted.add(key);
    return (await this.batch.ask()).get(key);
  }
}
