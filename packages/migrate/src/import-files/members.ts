/**
 * A map or list of a file that knows what was read of it. A value of another kind than the one that was asked for counts as not read. So
 * `unread` names all that was not imported, and nothing is lost in silence.
 */
export class Members {
  private readonly read = new Set<string>();
  private readonly inner = new Map<string, Members>();

  /** `path`: where it is in its document, such as spec.jobTemplate; '': the whole. */
  constructor(
    private readonly values: object,
    private readonly path = '',
  ) {}

  /** Members that are neither absent nor null. */
  get names(): string[] {
    return Object.entries(this.values).flatMap(([name, value]) => (value == null ? [] : [name]));
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** A text; an empty one says nothing. */
  text(name: string): string | undefined {
    return this.take(name, (value) => (typeof value === 'string' && value !== '' ? value : undefined));
  }

  /** A text that may be empty. */
  anyText(name: string): string | undefined {
    return this.take(name, (value) => (typeof value === 'string' ? value : undefined));
  }

  /** A number, which may be quoted. */
  number(name: string): number | undefined {
    return this.take(name, (value) => {
      const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
      return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
    });
  }

  /** true or false, which may be quoted. */
  flag(name: string): boolean | undefined {
    return this.take(name, (value) => ({ true: true, false: false })[String(value)]);
  }

  /** One of some words, in capital letters or not. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    return this.take(name, (value) => words.find((word) => word.toUpperCase() === String(value).toUpperCase()));
  }

  /** A list of texts: it says in their order what is run, so that none may be missing. Throws where it is anything else. */
  texts(name: string): string[] {
    const value = this.take(name, (given) => given ?? undefined);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw new Error(`${this.pathOf(name)} must be a list of texts`);
    return value.map((each: unknown, index) => {
      if (typeof each === 'string') return each;
      throw new Error(`${this.pathOf(name)}.${index} must be a text`);
    });
  }

  /** Counts as read: it is told in another way, or says nothing. */
  pass(...names: string[]): void {
    for (const name of names) this.read.add(name);
  }

  /** What is inside of a member; nothing where that is no map and no list. */
  at(name: string): Members {
    const value = this.valueOf(name);
    const found = this.inner.get(name) ?? new Members(isObject(value) ? value : {}, this.pathOf(name));
    this.inner.set(name, found);
    return found;
  }

  /** The maps of a list. */
  maps(name: string): Members[] {
    const list = this.at(name);
    return list.names.filter((index) => isMap(list.valueOf(index))).map((index) => list.at(index));
  }

  /** JSON of a member, for messages. */
  shown(name: string): string {
    return JSON.stringify(this.valueOf(name));
  }

  /** Paths of the members that were not read. null, and an empty text, list or map say nothing. */
  unread(): string[] {
    return Object.entries(this.values).flatMap(([name, value]: [string, unknown]) => {
      if (this.read.has(name) || value == null || value === '') return [];
      if (!isObject(value)) return [this.pathOf(name)];
      const inner = this.inner.get(name);
      if (inner) return inner.unread();
      return Object.keys(value).length > 0 ? [this.pathOf(name)] : [];
    });
  }

  private take<T>(name: string, read: (value: unknown) => T | undefined): T | undefined {
    const value = read(this.valueOf(name));
    if (value !== undefined) this.read.add(name);
    return value;
  }

  private valueOf(name: string): unknown {
    return Object.hasOwn(this.values, name) ? (this.values as Record<string, unknown>)[name] : undefined;
  }

  private pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
export const isMap = (value: unknown): value is Record<string, unknown> => isObject(value) && !Array.isArray(value);
