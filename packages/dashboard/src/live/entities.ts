export interface EntitiesOptions<Row> {
  readonly idOf: (row: Row) => string;
  /** All rows, as they are now. */
  readonly readAll: () => Promise<readonly Row[]>;
  /** These rows; those that are gone are left out. */
  readonly readSome: (ids: readonly string[]) => Promise<readonly Row[]>;
  /** Calls back later; a test has it call at once. */
  readonly later?: (then: () => void, ms: number) => void;
}

type Listener = () => void;

const ALONE_MS = 50;
const TOGETHER_MS = 200;
/** Pause after a read that failed; it doubles with each further one. */
const AGAIN_MS = 1_000;
const LONGEST_AGAIN_MS = 60_000;
/** Of one call. */
const MAX_IDS = 100;
/** Beyond these many, all rows are read once instead. */
const MAX_DIRTY = 300;

/**
 * Rows by id: read once, then kept up by events. A reader of one row is told of that row alone. What is marked while a read is
 * under way is read again after it, and so is what could not be read, so that no change is lost.
 */
export class Entities<Row> {
  private readonly rows = new Map<string, Row>();
  private readonly rowListeners = new Map<string, Set<Listener>>();
  private readonly listListeners = new Set<Listener>();
  private readonly dirtyIds = new Set<string>();
  private list: readonly Row[] = [];
  private loading: Promise<void> | undefined;
  private isReading = false;
  private timerAt = 0;
  /** Reads that failed in a row. */
  private failures = 0;
  loaded = false;

  constructor(private readonly options: EntitiesOptions<Row>) {}

  readonly get = (id: string): Row | undefined => this.rows.get(id);
  /** All rows in the order in which they came; another array whenever any of them changes. */
  readonly all = (): readonly Row[] => this.list;

  readonly subscribeList = (listener: Listener): (() => void) => {
    this.listListeners.add(listener);
    return () => this.listListeners.delete(listener);
  };

  subscribeRow(id: string, listener: Listener): () => void {
    const listeners = this.rowListeners.get(id) ?? new Set();
    this.rowListeners.set(id, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Reads all rows. A second call while one is under way is the same one. */
  load(): Promise<void> {
    this.loading ??= this.options
      .readAll()
      .then((rows) => {
        const kept = new Map(this.rows);
        this.rows.clear();
        for (const row of rows) this.rows.set(this.options.idOf(row), row);
        this.loaded = true;
        this.told(new Set([...kept.keys(), ...this.rows.keys()]));
      })
      .finally(() => {
        this.loading = undefined;
      });
    return this.loading;
  }

  put(row: Row): void {
    this.rows.set(this.options.idOf(row), row);
    this.told([this.options.idOf(row)]);
  }

  remove(id: string): void {
    if (this.rows.delete(id)) this.told([id]);
    // A read that is under way may have been answered while it was there.
    if (this.loading || this.isReading) this.dirty(id);
  }

  /** This row has changed in the service: it is read again, together with others that have. */
  dirty(id: string): void {
    this.dirtyIds.add(id);
    this.schedule(this.dirtyIds.size === 1 ? ALONE_MS : TOGETHER_MS);
  }

  private schedule(ms: number): void {
    if (this.timerAt > 0 || this.isReading) return;
    this.timerAt = ms;
    const later = this.options.later ?? ((then, after) => void setTimeout(then, after));
    later(() => {
      this.timerAt = 0;
      void this.readDirty();
    }, ms);
  }

  private async readDirty(): Promise<void> {
    this.isReading = true;
    await this.loading?.catch(() => undefined);
    const readsAll = this.dirtyIds.size > MAX_DIRTY;
    const ids = [...this.dirtyIds].slice(0, readsAll ? undefined : MAX_IDS);
    for (const id of ids) this.dirtyIds.delete(id);
    try {
      if (readsAll) await this.load();
      else if (ids.length > 0) this.apply(ids, await this.options.readSome(ids));
      this.failures = 0;
    } catch {
      // Whoever shows the rows says that the service does not answer.
      for (const id of ids) this.dirtyIds.add(id);
      this.failures += 1;
    } finally {
      this.isReading = false;
      const again = Math.min(AGAIN_MS * 2 ** (this.failures - 1), LONGEST_AGAIN_MS);
      if (this.dirtyIds.size > 0) this.schedule(this.failures > 0 ? again : TOGETHER_MS);
    }
  }

  private apply(ids: readonly string[], rows: readonly Row[]): void {
    const byId = new Map(rows.map((row) => [this.options.idOf(row), row]));
    for (const id of ids) {
      const row = byId.get(id);
      if (row === undefined) this.rows.delete(id);
      else this.rows.set(id, row);
    }
    this.told(ids);
  }

  private told(ids: Iterable<string>): void {
    this.list = [...this.rows.values()];
    for (const id of ids) for (const listener of this.rowListeners.get(id) ?? []) listener();
    for (const listener of this.listListeners) listener();
  }
}
