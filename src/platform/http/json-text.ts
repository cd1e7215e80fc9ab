/*
 * What the text of a body says and JSON.parse does not: how much it holds, which member stands in it twice, and how its numbers
 * are written. One pass over the text before it is parsed.
 */

/** Numbers by where they stand, those alone that JavaScript would write otherwise: 1.10, 1e3, 12345678901234567890. */
export type WrittenNumbers = Map<string | number, string | WrittenNumbers>;

export interface JsonText {
  /** True if there are more values than were allowed; then nothing else was looked for. */
  isTooLarge: boolean;
  /** Path of the first member that its map has twice. */
  repeated?: readonly (string | number)[];
  numbers?: WrittenNumbers;
}

interface Frame {
  isMap: boolean;
  /** The member that is read: its name, or its place in a list. */
  key: string | number;
  /** The next text of a map is a name. */
  expectsName: boolean;
  names?: Set<string>;
  numbers?: WrittenNumbers;
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const backslash = 0x5c;
const [openList, closeList, openMap, closeMap] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Judges a text before it is parsed: many small values take a hundred times the room of their text. A value is what stands behind
 * a comma, or first in a list or map. A text that is no JSON is read to its end as well: the parser says what is wrong with it.
 */
export function lookThrough(text: string, mostValues: number): JsonText {
  const frames: Frame[] = [];
  let values = 0;
  let repeated: JsonText['repeated'];
  let numbers: WrittenNumbers | undefined;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    const frame = frames.at(-1);
    if (sign === quote) {
      const end = endOfText(text, at);
      if (frame?.expectsName && nameIsRepeated(frame, nameIn(text.slice(at, end + 1)))) repeated ??= keysOf(frames);
      at = end;
    } else if (sign === comma) {
      values++;
      if (frame?.isMap) frame.expectsName = true;
      else if (frame) frame.key = Number(frame.key) + 1;
    } else if (sign === openMap || sign === openList) {
      if (!closes(text, at + 1)) values++;
      frames.push({ isMap: sign === openMap, key: 0, expectsName: sign === openMap });
    } else if (sign === closeMap || sign === closeList) frames.pop();
    else if (sign === minus || isDigit(sign)) {
      const end = endOfNumber(text, at);
      const written = text.slice(at, end);
      if (String(Number(written)) !== written) numbers = note(frames, written) ?? numbers;
      at = end - 1;
    }
    if (values > mostValues) return { isTooLarge: true };
  }
  return { isTooLarge: false, repeated, numbers };
}

const keysOf = (frames: readonly Frame[]): (string | number)[] => frames.map(({ key }) => key);

function nameIsRepeated(frame: Frame, name: string): boolean {
  frame.key = name;
  frame.expectsName = false;
  frame.names ??= new Set();
  if (!frame.names.has(name)) {
    frame.names.add(name);
    return false;
  }
  frame.numbers?.delete(name); // The last one counts, where none is refused.
  return true;
}

/** Written into the map of each frame; a frame is linked to the one around it once, so that deep texts cost no more than long ones. */
function note(frames: readonly Frame[], written: string): WrittenNumbers | undefined {
  let noted: string | WrittenNumbers = written;
  for (let depth = frames.length - 1; depth >= 0; depth--) {
    const frame = frames[depth]!;
    const isLinked = frame.numbers !== undefined && frame.numbers.get(frame.key) === noted;
    if (isLinked) break;
    frame.numbers ??= new Map();
    frame.numbers.set(frame.key, noted);
    noted = frame.numbers;
  }
  return frames[0]?.numbers;
}

function nameIn(quoted: string): string {
  const bare = quoted.slice(1, -1);
  if (!bare.includes('\\')) return bare;
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return bare; // no JSON: the parser says so
  }
}

const isDigit = (sign: number): boolean => sign >= zero && sign <= nine;

function endOfText(text: string, start: number): number {
  let at = start + 1;
  for (let sign = text.charCodeAt(at); at < text.length && sign !== quote; sign = text.charCodeAt(at))
    at += sign === backslash ? 2 : 1;
  return at;
}

/** Signs of numbers, and blanks. A pattern that repeats them may need more stack than there is in a text of megabytes. */
const inNumber = signsOf('-+.eE0123456789');
const blank = signsOf(' \t\r\n');
function signsOf(text: string): ReadonlySet<number> {
  return new Set([...text].map((sign) => sign.charCodeAt(0)));
}

function endOf(signs: ReadonlySet<number>, text: string, start: number): number {
  let at = start;
  while (signs.has(text.charCodeAt(at))) at++;
  return at;
}

const endOfNumber = (text: string, start: number): number => endOf(inNumber, text, start);

function closes(text: string, start: number): boolean {
  const sign = text.charCodeAt(endOf(blank, text, start));
  return sign === closeList || sign === closeMap;
}

/** The numbers of maps that were read from such a text. */
const writtenIn = new WeakMap<object, WrittenNumbers>();

export const keepWritten = (value: object, numbers: WrittenNumbers): unknown => writtenIn.set(value, numbers);

/** A simple value of a map as its text: a number as it was written. */
export function textOf(map: object, name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number') return value;
  const written = writtenIn.get(map)?.get(name);
  return typeof written === 'string' ? written : String(value);
}

/** Are all numbers in this value those that were written, to the last digit? */
export function keepsNumbers(value: object): boolean {
  const numbers = writtenIn.get(value);
  return numbers === undefined || allKept(numbers);
}

const allKept = (numbers: WrittenNumbers): boolean =>
  [...numbers.values()].every((one) =>
    typeof one === 'string' ? isSameNumber(one, String(Number(one))) : allKept(one),
  );

function isSameNumber(one: string, other: string): boolean {
  const [a, b] = [inDigits(one), inDigits(other)];
  return a !== undefined && b !== undefined && a.digits === b.digits && (a.digits === '' || a.exponent === b.exponent);
}

/** A number as whole digits, without zeros at either end, times a power of ten. */
function inDigits(number: string): { digits: string; exponent: number } | undefined {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? [];
  if (whole === undefined) return undefined;
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  const exponent = Number(power) - fraction.length + all.length - digits.length;
  return { digits: digits === '' ? '' : sign + digits, exponent };
}
