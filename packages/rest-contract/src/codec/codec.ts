import type { HttpBody } from '../raw/body.js';
import type { RestResponse } from '../raw/message.js';
import type { JsonSchema, ResponseDocs } from '../openapi/types.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The raw kind each codec turns values into. `text` is shorthand for path, query, header and cookie alike. */
export interface RawValues {
  text: string;
  path: string;
  query: string;
  header: string;
  cookie: string;
  json: Json;
  body: HttpBody;
  response: RestResponse;
}
export type CodecKind = keyof RawValues;
export type Way = 'both' | 'encode' | 'decode';

export interface ReadContext {
  /** More body than this is refused, unless the codec streams. */
  readonly maxBytes: number;
}

/**
 * Turns values into one raw kind and back. `Sent` is what the sending side gives, `Read` what the reading side gets.
 * A codec with one direction has only that function; the compiler asks for the other where it is needed.
 */
export interface Codec<K extends CodecKind = CodecKind, Sent = unknown, Read = Sent, W extends Way = Way> {
  readonly raw: K;
  readonly way: W;
  encode(value: Sent): RawValues[K];
  decode(raw: RawValues[K], context: ReadContext): Read | Promise<Read>;
  readonly docs: CodecDocs;
}

/** Description of a codec's values in an OpenAPI document. */
export interface CodecDocs {
  readonly schema?: JsonSchema | undefined;
  /** Body codecs: the media types they write and read; the first is written. */
  readonly mediaTypes?: readonly string[] | undefined;
  /** Response codecs: what each status means. */
  readonly responses?: ResponseDocs | undefined;
  /** A type inside the codec, documented by its own schema: the element of a list or stream. */
  readonly inner?: { readonly type: unknown; readonly list: boolean } | undefined;
}

interface Writes<K extends CodecKind, T> {
  encode(value: T): RawValues[K];
}
interface Reads<K extends CodecKind, T> {
  decode(raw: RawValues[K], context: ReadContext): T | Promise<T>;
}

/**
 * Makes a codec: `codec('json', { encode: (m: Money) => m.cents, decode: (json) => new Money(json) })`.
 * Leave out `encode` or `decode` for a codec that only one side needs.
 */
export function codec<K extends CodecKind, T>(
  raw: K,
  functions: Writes<K, T> & Reads<K, T> & CodecDocs,
): Codec<K, T, T, 'both'>;
export function codec<K extends CodecKind, T>(
  raw: K,
  functions: Writes<K, T> & CodecDocs & { decode?: undefined },
): Codec<K, T, T, 'encode'>;
export function codec<K extends CodecKind, T>(
  raw: K,
  functions: Reads<K, T> & CodecDocs & { encode?: undefined },
): Codec<K, T, T, 'decode'>;
export function codec<K extends CodecKind, T>(
  raw: K,
  functions: Partial<Writes<K, T> & Reads<K, T>> & CodecDocs,
): Codec<K, T> {
  const { encode, decode, ...docs } = functions;
  if (!encode && !decode) throw new TypeError('A codec needs encode, decode or both');
  return {
    raw,
    way: encode && decode ? 'both' : encode ? 'encode' : 'decode',
    encode: encode ?? (() => missing(raw, 'encode')),
    decode: decode ?? (() => missing(raw, 'decode')),
    docs,
  };
}

function missing(raw: CodecKind, way: Way): never {
  throw new TypeError(`This ${raw} codec has no ${way}`);
}

export const isCodec = (value: unknown): value is Codec =>
  typeof value === 'object' && value !== null && 'raw' in value && 'way' in value && 'encode' in value;
