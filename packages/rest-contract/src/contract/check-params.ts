import type { ContractError } from './errors.js';
import type { FieldPlace } from './types.js';
import type { Group, KindOf } from './params.js';

// Which parameters an operation may have. Each mapped type gives `unknown` where all is well, else the complaint.

type Name<K> = K & string;

/** Names of the parameters that are whole bodies, those inside groups too. */
type BodyNames<P> = {
  [K in keyof P]: P[K] extends Group<infer Inner> ? BodyNames<Inner> : KindOf<P[K]> extends 'body' ? Name<K> : never;
}[keyof P];

type IsUnion<T, U = T> = [T] extends [never] ? false : T extends unknown ? ([U] extends [T] ? false : true) : never;

type CheckGetEntry<K, E> =
  E extends Group<infer Inner>
    ? { readonly group: { [I in keyof Inner]: CheckGetEntry<I, Inner[I]> } }
    : KindOf<E> extends 'field' | 'body'
      ? ContractError<`GET takes no body: '${Name<K>}' must be path, query or header`>
      : unknown;

type CheckBodyEntry<K, E, Bodies> =
  E extends Group<infer Inner>
    ? { readonly group: { [I in keyof Inner]: CheckBodyEntry<I, Inner[I], Bodies> } }
    : KindOf<E> extends 'body'
      ? IsUnion<Bodies> extends true
        ? ContractError<`An operation has one body: '${Name<K>}' is one of several`>
        : unknown
      : KindOf<E> extends 'field' | 'plain'
        ? [Bodies] extends [never]
          ? unknown
          : ContractError<`'${Name<K>}' must be path, query, header or cookie: '${Name<Bodies>}' is the whole body`>
        : unknown;

type CheckFormEntry<K, E> =
  E extends Group<infer Inner>
    ? { readonly group: { [I in keyof Inner]: CheckFormEntry<I, Inner[I]> } }
    : KindOf<E> extends 'body'
      ? ContractError<`A form is made of fields: '${Name<K>}' cannot be its body`>
      : unknown;

export type CheckedParams<P, F extends FieldPlace> = F extends 'query'
  ? { [K in keyof P]: CheckGetEntry<K, P[K]> }
  : F extends 'form'
    ? { [K in keyof P]: CheckFormEntry<K, P[K]> }
    : { [K in keyof P]: CheckBodyEntry<K, P[K], BodyNames<P>> };

type CheckPrefixEntry<K, E> =
  E extends Group<infer Inner>
    ? { readonly group: { [I in keyof Inner]: CheckPrefixEntry<I, Inner[I]> } }
    : KindOf<E> extends 'field' | 'body'
      ? ContractError<`A prefix takes no body: '${Name<K>}' must be path, query, header or cookie`>
      : unknown;

export type CheckedPrefixParams<P> = { [K in keyof P]: CheckPrefixEntry<K, P[K]> };
