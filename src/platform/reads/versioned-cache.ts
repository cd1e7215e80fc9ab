import { neverChanges } from '../http/json.js';

interface Entry<Value> {
  version: string;
  value: Value;
  size: number;
}

/**
 * Values that are right as long as their version is: what a value depends on is named at each look, and asked of the database. A copy that
 * is right without being asked for does not exist here: another process may have answered a writer a moment ago.
 *
 * Versions never come again, so that a value may be newer than the version it is kept under: the next look names another one.
 */
export class VersionedCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private size = 0;

  /** Values of at most this size in all are kept: those that were loaded last. */
  constructor(
    private readonly most: number,
    private readonly sizeOf: (value: Value) => number = () => 1,
  ) {}

  /** `load` is given what is kept of another version: as long as it is the same, it may answer the very same value. */
  async get(key: string, version: string, load: (former?: Value) => Promise<Value>): Promise<Value> {
    const known = this.entries.get(key);
    if (known?.version === version) return known.value;
    return this.keep(key, version, await load(known?.value));
  }

  /** Gets many values, by key; those that `load` does not find are left out. */
  async many(
    wanted: ReadonlyMap<string, string>,
    load: (formers: ReadonlyMap<string, Value | undefined>) => Promise<ReadonlyMap<string, Value>>,
  ): Promise<Map<string, Value>> {
    const found = new Map<string, Value>();
    const formers = new Map<string, Value | undefined>();
    for (const [key, version] of wanted) {
      const known = this.entries.get(key);
      if (known?.version === version) found.set(key, known.value);
      else formers.set(key, known?.value);
    }
    if (formers.size === 0) return found;
    for (const [key, value] of await load(formers)) found.set(key, this.keep(key, wanted.get(key)!, value));
    return found;
  }

  private keep(key: string, version: string, value: Value): Value {
    this.remove(key);
    const size = this.sizeOf(value);
    if (size > this.most) return value;
    this.entries.set(key, { version, value, size });
    this.size += size;
    for (const oldest of this.entries.keys()) {
      if (this.size <= this.most) break;
      this.remove(oldest);
    }
    return value;
  }

  private remove(key: string): void {
    this.size -= this.entries.get(key)?.size ?? 0;
    this.entries.delete(key);
  }
}

/** A value with the JSON that it was made of. */
export interface FromJson<Value> {
  json: string;
  value: Value;
}

/** Returns the very same value for the same text, so that JSON that was written of it is there already. */
export const fromJson = <Value extends object>(
  json: string,
  former: FromJson<Value> | undefined,
  make: (json: string) => Value = (text) => JSON.parse(text) as Value,
): FromJson<Value> => (former?.json === json ? former : { json, value: neverChanges(make(json)) });
