import { neverChanges } from '../http/json.js';

/** Records that never change as long as their key is in use: each is read once, and kept while it is asked for. */
export class KeptRecords<Value extends object> {
  private kept: ReadonlyMap<string, Value> = new Map();
  private last: { keys: readonly string[]; found: Value[] } | undefined;

  /** Beyond `most` of them the others are read each time, so that memory stays bounded. */
  constructor(private readonly most: number) {}

  /**
   * In the order of the keys. Those that `load` does not find are left out, and all others are forgotten. As long as nothing
   * comes or goes it is the very same list, so that what was made of it can be kept as well.
   */
  async list(
    keys: readonly string[],
    load: (missing: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  ): Promise<Value[]> {
    const { kept, last } = this;
    if (last && last.keys.length === keys.length && last.keys.every((key, index) => key === keys[index])) {
      return last.found;
    }
    const missing = keys.filter((key) => !kept.has(key));
    const loaded = missing.length > 0 ? await load(missing) : new Map<string, Value>();
    const next = new Map<string, Value>();
    const found: Value[] = [];
    for (const key of keys) {
      const value = kept.get(key) ?? loaded.get(key);
      if (value === undefined) continue;
      found.push(next.size < this.most ? neverChanges(value) : value);
      if (next.size < this.most) next.set(key, value);
    }
    this.kept = next;
    this.last = found.length === keys.length && found.length <= this.most ? { keys, found } : undefined;
    return found;
  }
}
