import { streamBody } from '../raw/body.js';
import { Unreadable } from '../raw/failures.js';
import { JSON_TYPE, NDJSON_TYPE } from '../raw/media-type.js';
import type { CheckedElement } from '../contract/check-codecs.js';
import type { ReadOfShape, SentOfShape, WayOfShape } from '../contract/shapes.js';
import type { Shape } from './shape.js';
import { checkMediaType } from './bodies.js';
import type { Codec, Json } from './codec.js';
import { type JsonCoding, jsonCoding } from './lookup.js';
import { parseJson, writeJson } from './json.js';
import { bodyToStream, decodeUtf8, encodeUtf8 } from './stream-bytes.js';

/** An element may be this long; a stream that never ends one would otherwise fill the memory. */
const MAX_ELEMENT = 16_777_216;

export type ElementCodec<T> = Codec<
  'body',
  AsyncIterable<SentOfShape<T>>,
  AsyncIterable<ReadOfShape<T>>,
  WayOfShape<T>
>;

/** A stream of values, one JSON text per line (application/x-ndjson). */
export const ndjson = <T extends Shape>(element: T & CheckedElement<T>): ElementCodec<T> =>
  elements<T>(element, NDJSON_TYPE, writeLines, splitLines);

/** A stream of values as the elements of one JSON array: any JSON client can read it whole. */
export const jsonArray = <T extends Shape>(element: T & CheckedElement<T>): ElementCodec<T> =>
  elements<T>(element, JSON_TYPE, writeArray, splitArray);

function elements<T extends Shape>(
  element: T,
  mediaType: string,
  write: (values: AsyncIterable<string>) => AsyncIterable<string>,
  split: (pieces: AsyncIterable<string>) => AsyncIterable<string>,
): ElementCodec<T> {
  const coding = jsonCoding(element);
  const made: Codec<'body', AsyncIterable<unknown>, AsyncIterable<unknown>> = {
    raw: 'body',
    way: coding.way,
    encode: (values) => streamBody(encodeUtf8(write(texts(values, coding))), mediaType),
    decode: (body) => {
      checkMediaType(body, [mediaType]);
      return readElements(split(decodeUtf8(bodyToStream(body))), coding);
    },
    docs: { mediaTypes: [mediaType], inner: { type: element, list: mediaType === JSON_TYPE } },
  };
  return made as ElementCodec<T>;
}

async function* texts(values: AsyncIterable<unknown>, coding: JsonCoding): AsyncGenerator<string> {
  for await (const value of values) yield writeJson(coding.encode(value));
}

async function* readElements(split: AsyncIterable<string>, coding: JsonCoding): AsyncGenerator<unknown> {
  let index = 0;
  for await (const text of split) {
    try {
      yield await coding.decode(parseJson(text) as Json);
    } catch (problem) {
      throw problem instanceof Unreadable ? unreadableElement(index, problem) : problem;
    }
    index += 1;
  }
}

const unreadableElement = (index: number, { message }: Unreadable) =>
  new Unreadable(
    `has an unreadable element ${index}${message.startsWith('is ') ? `, which ${message}` : `: ${message}`}`,
  );

async function* writeLines(values: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const value of values) yield `${value}\n`;
}

async function* writeArray(values: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '[';
  for await (const value of values) {
    yield before + value;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

async function* splitLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = piece.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      const text = rest + line;
      rest = '';
      if (text.trim() !== '') yield text;
    }
    rest = bounded(rest + last);
  }
  if (rest.trim() !== '') yield rest;
}

function bounded(text: string): string {
  if (text.length > MAX_ELEMENT) throw new Unreadable(`has an element of more than ${MAX_ELEMENT} characters`);
  return text;
}

/** Finds the top-level elements of a JSON array without holding more than one of them. */
async function* splitArray(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const scanner = new ArrayScanner();
  for await (const piece of pieces) yield* scanner.push(piece);
  if (!scanner.closed) throw new Unreadable('ends before its array does');
}

class ArrayScanner {
  closed = false;
  private opened = false;
  private depth = 0;
  private inString = false;
  private escaped = false;
  private element = '';
  private count = 0;

  *push(piece: string): Generator<string> {
    let start = 0;
    for (let i = 0; i < piece.length; i += 1) {
      const char = piece[i] as string;
      if (this.inString) {
        this.insideString(char);
        continue;
      }
      if (!this.opened || this.closed) {
        this.outside(char);
        start = i + 1;
      } else if (char === '"') this.inString = true;
      else if (char === '[' || char === '{') this.depth += 1;
      else if (this.depth > 0) this.depth -= char === ']' || char === '}' ? 1 : 0;
      else if (char === ',' || char === ']') {
        const text = (this.element + piece.slice(start, i)).trim();
        this.element = '';
        start = i + 1;
        this.closed = char === ']';
        if (text !== '') {
          this.count += 1;
          yield text;
        } else if (char === ',' || this.count > 0) throw new Unreadable('is not a valid JSON array');
      }
    }
    this.element = this.closed ? '' : bounded(this.element + piece.slice(start));
  }

  private insideString(char: string): void {
    if (this.escaped) this.escaped = false;
    else if (char === '\\') this.escaped = true;
    else if (char === '"') this.inString = false;
  }

  private outside(char: string): void {
    if (/\s/.test(char)) return;
    if (this.closed || char !== '[') throw new Unreadable('is not a JSON array');
    this.opened = true;
  }
}
