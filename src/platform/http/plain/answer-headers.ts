import { validateHeaderName, validateHeaderValue } from 'node:http';

export type HeaderValue = number | string | readonly string[];
type Common = ReadonlyMap<string, string>;

/** The headers of an answer, in the order in which they came; their names are compared in small letters. */
export class AnswerHeaders {
  private readonly keys: string[] = [];
  private readonly names: string[] = [];
  private readonly values: HeaderValue[] = [];
  private common: Common | undefined;

  /** Throws an error for what must not stand in a header. */
  set(name: string, value: HeaderValue): void {
    validateHeaderName(name);
    for (const one of linesOf(value)) validateHeaderValue(name, one);
    const key = name.toLowerCase();
    this.separate(key);
    const found = this.keys.indexOf(key);
    const at = found < 0 ? this.keys.push(key) - 1 : found;
    this.names[at] = name;
    this.values[at] = value;
  }

  /** Those that many answers have: checked and written once. The map must not change any more. */
  setCommon(headers: Common): void {
    const { keys } = prepared(headers);
    if (this.common || this.keys.some((key) => keys.has(key))) {
      for (const [name, value] of headers) this.set(name, value);
    } else this.common = headers;
  }

  get(name: string): HeaderValue | undefined {
    const key = name.toLowerCase();
    this.separate(key);
    const at = this.keys.indexOf(key);
    return at < 0 ? undefined : this.values[at];
  }

  remove(name: string): void {
    const key = name.toLowerCase();
    this.separate(key);
    const at = this.keys.indexOf(key);
    if (at < 0) return;
    for (const list of [this.keys, this.names, this.values]) list.splice(at, 1);
  }

  forEach(take: (name: string, value: HeaderValue) => void): void {
    this.common?.forEach((value, name) => take(name, value));
    this.names.forEach((name, at) => take(name, this.values[at]!));
  }

  /** As they go over the wire. */
  toString(): string {
    let text = this.common ? prepared(this.common).text : '';
    for (let at = 0; at < this.names.length; at++) text += written(this.names[at]!, this.values[at]!);
    return text;
  }

  /** Common headers of which one is asked for, or changed, stand for themselves. */
  private separate(key: string): void {
    const { common } = this;
    if (!common || !prepared(common).keys.has(key)) return;
    this.common = undefined;
    for (const [name, value] of common) this.set(name, value);
  }
}

const linesOf = (value: HeaderValue): readonly string[] => (typeof value === 'object' ? value : [String(value)]);

const written = (name: string, value: HeaderValue): string =>
  typeof value === 'object' ? value.map((one) => `${name}: ${one}\r\n`).join('') : `${name}: ${value}\r\n`;

const known = new WeakMap<Common, { keys: ReadonlySet<string>; text: string }>();

function prepared(headers: Common): { keys: ReadonlySet<string>; text: string } {
  const before = known.get(headers);
  if (before) return before;
  const names = [...headers.keys()];
  for (const name of names) {
    validateHeaderName(name);
    validateHeaderValue(name, headers.get(name)!);
  }
  const text = names.map((name) => written(name, headers.get(name)!)).join('');
  const made = { keys: new Set(names.map((name) => name.toLowerCase())), text };
  known.set(headers, made);
  return made;
}
