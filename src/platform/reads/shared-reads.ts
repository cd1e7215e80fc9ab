import { SharedRead } from './shared-read.js';

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

  /** Keys that somebody waits for. */
  get size(): number {
    return this.reads.size;
  }
}
