import { setImmediate as callsTaken } from 'node:timers/promises';
import type { AskedSince, DocumentAt } from '../database/moment.js';
import { neverChanges, toJson } from '../http/json.js';

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

/** Reads a document unless the moment is still `since`, in which case it is what it was then. */
type ReadSince = (since?: string) => Promise<DocumentAt>;

/**
 * A list that is read as JSON. As long as nothing was committed it is not read again; as long as its text is the same it is the very same
 * list, so that what was made of it is kept as well.
 */
export class KeptList<Member> {
  private last: { moment: string; json: string; list: Member[] } | undefined;

  async read(read: ReadSince): Promise<Member[]> {
    const { last } = this;
    const { moment, json } = await read(last?.moment);
    if (last && (json === null || json === last.json)) {
      this.last = { ...last, moment };
      return last.list;
    }
    const list = neverChanges(JSON.parse(json!) as Member[]);
    this.last = { moment, json: json!, list };
    return list;
  }
}

/** What a document takes beside its text, in characters. */
const besideText = 256;

/** The same for many small documents by id. */
export class KeptDocuments<Value extends object> {
  private readonly last = new Map<string, { moment: string; json: string; value: Value }>();
  private characters = 0;

  /** At most so many characters of JSON are kept; what is made of it takes some ten times as much memory. */
  constructor(
    private readonly most: number,
    private readonly make: (json: string) => Value,
  ) {}

  async find(
    ids: readonly string[],
    read: (asked: AskedSince[]) => Promise<(DocumentAt & { id: string })[]>,
  ): Promise<Map<string, Value>> {
    const known = new Map(ids.map((id) => [id, this.last.get(id)]));
    const found = await read(ids.map((id) => ({ id, since: known.get(id)?.moment })));
    return new Map(
      found.map(({ id, moment, json }) => {
        const before = known.get(id);
        const same = before && (json === null || json === before.json) ? before : undefined;
        const value = same?.value ?? neverChanges(this.make(json!));
        this.keep(id, { moment, json: same?.json ?? json!, value });
        return [id, value];
      }),
    );
  }

  private keep(id: string, document: { moment: string; json: string; value: Value }): void {
    const before = this.last.get(id)?.json.length ?? -(besideText + id.length);
    this.characters += document.json.length - before;
    this.last.set(id, document);
    if (this.characters <= this.most) return;
    this.last.clear();
    this.characters = 0;
  }
}

/** Lists that several reads of one snapshot make together: they are made again when anything was committed. */
export class KeptLists<Member> {
  private readonly last = new Map<string, { moment: string; list: readonly Member[] }>();

  /** With at most so many members in all lists together: others are made each time. */
  constructor(private readonly most: number) {}

  async read(key: string, moment: string, make: () => Promise<readonly Member[]>): Promise<readonly Member[]> {
    const known = this.last.get(key);
    if (known?.moment === moment) return known.list;
    this.last.delete(key);
    const list = await make();
    if (this.size + list.length > this.most) this.last.clear();
    if (list.length <= this.most) this.last.set(key, { moment, list });
    return list;
  }

  private get size(): number {
    return [...this.last.values()].reduce((sum, { list }) => sum + list.length, 0);
  }
}

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
    if (last?.keys === keys) return last.found;
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

/** Characters of JSON; longer records are made anew for each read. */
const longestKept = 16_384;

/** A row as it stands now, and which of all that ever stood under its key. */
interface Marked {
  id: string;
  mark: string;
}

/**
 * Records that are kept as long as their row is the same one, which each read asks the database: so nothing is answered from before,
 * and what did not change is neither sent nor written as JSON again.
 */
export class KeptByMark<Value extends object> {
  private kept = new Map<string, { mark: string; value: Value }>();

  /** At most so many are kept. */
  constructor(private readonly most: number) {}

  /** `marks`: of the rows that are there; `load`: such rows with their marks. */
  async find(
    ids: readonly string[],
    marks: (ids: readonly string[]) => Promise<Marked[]>,
    load: (ids: readonly string[]) => Promise<(Marked & { value: Value })[]>,
  ): Promise<Map<string, Value>> {
    const found = new Map<string, Value>();
    const others: string[] = [];
    for (const { id, mark } of await marks(ids)) {
      const known = this.kept.get(id);
      if (known?.mark === mark) found.set(id, known.value);
      else others.push(id);
    }
    if (others.length === 0) return found;
    for (const { id, mark, value } of await load(others)) {
      if (this.kept.size >= this.most) this.kept.clear();
      found.set(id, neverChanges(value));
      if (toJson(value).length <= longestKept) this.kept.set(id, { mark, value });
    }
    return found;
  }
}
