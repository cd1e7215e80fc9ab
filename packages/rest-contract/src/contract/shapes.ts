import type { CodecKind, Way } from '../codec/codec.js';
import type { CodecRule, HasOwnCodec } from '../codec/rules.js';
import type { InputOf, OutputOf } from '../codec/standard-schema.js';

/** Told apart by two members before anything is inferred: schemas have methods of the same names, and comparing those is slow. */
interface CodecLike {
  readonly raw: CodecKind;
  readonly way: Way;
}
type KindOfCodec<T extends CodecLike> = T['raw'];
type SentOfCodec<T> = T extends { encode(value: infer Sent): unknown } ? Sent : never;
type ReadOfCodec<T> = T extends { decode(raw: never, context: never): infer R } ? Awaited<R> : never;

export type TextParamKind = 'path' | 'query' | 'header' | 'cookie';

/** The codecs that can serve a place, in the order of fallback: a response falls back to a body, a body to JSON. */
export type Serves<Place> = Place extends TextParamKind
  ? Place | 'text'
  : Place extends 'result'
    ? 'response' | 'body' | 'json'
    : Place extends 'body'
      ? 'body' | 'json'
      : 'json';

/** The rule of a contract's codec set that covers schema T at a place, if any. */
export type RuleFor<T, Rules, Kind extends CodecKind = CodecKind> =
  Rules extends CodecRule<infer Target, infer K, Way, boolean>
    ? T extends Target
      ? K extends Kind
        ? Rules
        : never
      : never
    : never;

type OwnOf<T> = T extends HasOwnCodec<infer C> ? (unknown extends C ? never : NonNullable<C>) : never;

/** `z.ZodType<Task>` says nothing of its input: then it is what it puts out. */
type SchemaInput<T> = unknown extends InputOf<T> ? OutputOf<T> : InputOf<T>;

/** Type that the sending side gives for T: the client for a parameter, the server for a result. */
export type SentOfShape<T, Rules = never> = T extends CodecLike
  ? SentOfCodec<T>
  : [OwnOf<T>] extends [never]
    ? [RuleFor<T, Rules>] extends [never]
      ? SchemaInput<T>
      : OutputOf<T> | Extract<InputOf<T>, undefined>
    : SentOfShape<OwnOf<T>>;

/** Type that the reading side gets for T: the server for a parameter, the client for a result. */
export type ReadOfShape<T> = T extends CodecLike
  ? ReadOfCodec<T>
  : [OwnOf<T>] extends [never]
    ? OutputOf<T>
    : ReadOfShape<OwnOf<T>>;

/** The directions in which T's codec works; a schema reads by validating and writes as it is. */
export type WayOfShape<T, Rules = never, Kind extends CodecKind = CodecKind> = T extends CodecLike
  ? T['way']
  : [OwnOf<T>] extends [never]
    ? [RuleFor<T, Rules, Kind>] extends [never]
      ? 'both'
      : RuleFor<T, Rules, Kind> extends CodecRule<unknown, CodecKind, infer W, boolean>
        ? W
        : 'both'
    : WayOfShape<OwnOf<T>>;

/** True when T's values pass unchanged: a value that was read may be written again. */
export type SameBothWays<T> = [OutputOf<T>] extends [SchemaInput<T>] ? true : false;

export type IsCovered<T, Rules, Kind extends CodecKind> = T extends CodecLike
  ? KindOfCodec<T> extends Kind
    ? true
    : false
  : [OwnOf<T>] extends [never]
    ? [RuleFor<T, Rules, Kind>] extends [never]
      ? 'by schema'
      : true
    : OwnOf<T> extends CodecLike
      ? KindOfCodec<OwnOf<T>> extends Kind
        ? true
        : 'by schema'
      : true;
