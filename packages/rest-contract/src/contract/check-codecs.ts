import type { OutputOf } from '../codec/standard-schema.js';
import type { AnyContract, Contract, FieldPlace, Operation, Prefix } from './types.js';
import type { ContractError, NeedsCodec } from './errors.js';
import type { Group, KindOf, ParamKind, TypeOf } from './params.js';
import type { IsCovered, SameBothWays, Serves, TextParamKind, WayOfShape } from './shapes.js';

// Whether every type of a contract has a codec, and whether it has the direction a server or client needs.

type Name<K> = K & string;
type Scalar = string | number | boolean | bigint | null | undefined | Date;

/** Types that JSON cannot carry and the defaults do not cover. */
type Opaque =
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | Promise<unknown>
  | AsyncIterable<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | RegExp
  | Error;

type IsAny<T> = 0 extends 1 & T ? true : false;
type Shallower = [never, 0, 1, 2, 3];

/** The part of T that JSON cannot carry; looks a few levels deep, which finds mistakes and ends on recursive types. */
type NotJson<T, Depth extends number = 4> =
  IsAny<T> extends true
    ? never
    : unknown extends T
      ? never
      : T extends Scalar | void
        ? never
        : T extends Opaque
          ? T
          : [Depth] extends [0]
            ? never
            : T extends readonly (infer E)[]
              ? NotJson<E, Shallower[Depth] & number>
              : T extends object
                ? { [K in keyof T]-?: NotJson<T[K], Shallower[Depth] & number> }[keyof T]
                : never;

type NotText<T> = IsAny<T> extends true ? never : unknown extends T ? never : T extends Scalar | void ? never : T;

/** In a query or form a list is the name repeated. */
type NotTextOrList<T> = T extends readonly (infer E)[] ? NotText<E> : NotText<T>;

type CodecPlace = TextParamKind | 'json' | 'body' | 'result';
type NotCovered<T, At extends CodecPlace> = At extends 'query'
  ? NotTextOrList<T>
  : At extends TextParamKind
    ? NotText<T>
    : NotJson<T>;

type PlaceOf<K extends ParamKind, F extends FieldPlace | 'path'> = K extends 'plain'
  ? F extends 'form'
    ? 'query'
    : F
  : K extends 'field'
    ? F extends 'form'
      ? 'query'
      : 'json'
    : K & CodecPlace;

type ProblemOf<T, Rules, At extends CodecPlace, Where extends string> =
  IsCovered<T, Rules, Serves<At>> extends true
    ? never
    : IsCovered<T, Rules, Serves<At>> extends false
      ? ContractError<`${Where} has a codec of another kind than its place, ${At}, can use`>
      : SameBothWays<T> extends false
        ? NeedsCodec<`${Where} needs a codec: its schema only reads, what it puts out cannot be sent back`, OutputOf<T>>
        : [NotCovered<OutputOf<T>, At>] extends [never]
          ? never
          : NeedsCodec<`${Where} needs a codec: no default covers its type as ${At}`, NotCovered<OutputOf<T>, At>>;

/** For types inside codecs, the elements of a stream: `unknown` when all is well. */
export type CheckedElement<T> = Complain<ProblemOf<T, never, 'json', 'The element'>>;

type ParamProblems<P, Rules, F extends FieldPlace | 'path', Op extends string> = {
  [K in keyof P]: P[K] extends Group<infer Inner>
    ? ParamProblems<Inner, Rules, F, Op>
    : ProblemOf<TypeOf<P[K]>, Rules, PlaceOf<KindOf<P[K]>, F>, `'${Name<K>}' of '${Op}'`>;
}[keyof P];

type DefinitionProblems<D, Rules, Op extends string> =
  D extends Operation<infer F, infer P, infer R, infer E>
    ? | ParamProblems<P, Rules, F, Op>
      | ProblemOf<R, Rules, 'result', `The result of '${Op}'`>
      | { [S in keyof E]: ProblemOf<E[S], Rules, 'body', `Error ${S & number} of '${Op}'`> }[keyof E]
    : D extends Prefix<infer P, AnyContract>
      ? ParamProblems<P, Rules, 'path', Op>
      : never;

type Complain<Problem> = [Problem] extends [never] ? unknown : Problem;

export type CheckedDefinitions<Ops, Rules> = {
  [K in keyof Ops]: Complain<DefinitionProblems<Ops[K], Rules, Name<K>>>;
};

// Directions: a server reads parameters and writes results, a client the other way round.

type Side = 'server' | 'client';
type OnlyWay<S extends Side, What extends 'param' | 'result'> = [S, What] extends
  ['server', 'param'] | ['client', 'result']
  ? 'encode'
  : 'decode';
type Missing<W> = W extends 'encode' ? 'decode' : 'encode';

type WayProblem<T, Rules, At extends CodecPlace, Wrong, S extends Side, Where extends string> =
  WayOfShape<T, Rules, Serves<At>> extends infer W
    ? W extends Wrong & string
      ? ContractError<`A ${S} needs '${Missing<W>}' for ${Where}, whose codec has only '${W}'`>
      : never
    : never;

type ParamWayProblems<P, Rules, F extends FieldPlace | 'path', S extends Side, Op extends string> = {
  [K in keyof P]: P[K] extends Group<infer Inner>
    ? ParamWayProblems<Inner, Rules, F, S, Op>
    : WayProblem<TypeOf<P[K]>, Rules, PlaceOf<KindOf<P[K]>, F>, OnlyWay<S, 'param'>, S, `'${Name<K>}' of '${Op}'`>;
}[keyof P];

type Shallow = [never, 0, 1, 2, 3, 4];
type WayProblems<C, S extends Side, Depth extends number> = [Depth] extends [0]
  ? never
  : C extends Contract<infer Ops, infer Rules>
    ? {
        [K in keyof Ops]: Ops[K] extends Operation<infer F, infer P, infer R>
          ? | ParamWayProblems<P, Rules, F, S, Name<K>>
            | WayProblem<R, Rules, 'result', OnlyWay<S, 'result'>, S, `the result of '${Name<K>}'`>
          : Ops[K] extends Prefix<infer P, infer Target>
            ? ParamWayProblems<P, Rules, 'path', S, Name<K>> | WayProblems<Target, S, Shallow[Depth] & number>
            : WayProblems<Ops[K], S, Shallow[Depth] & number>;
      }[keyof Ops]
    : never;

/** `unknown` when every codec has the direction this side needs. */
export type UsableBy<C, S extends Side> = Complain<WayProblems<C, S, 5>>;
