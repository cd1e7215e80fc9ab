import { originalOf } from '../openapi/naming.js';
import type { Codec, CodecKind, Way } from './codec.js';
import type { InputOf, OutputOf, StandardSchema } from './standard-schema.js';

/** "Schemas like this go by that codec": one line of a contract's codec set. */
export interface CodecRule<
  out Target = unknown,
  out K extends CodecKind = CodecKind,
  out W extends Way = Way,
  out Low extends boolean = boolean,
> {
  readonly covers: (schema: StandardSchema) => boolean;
  readonly raw: K;
  readonly codecOf: (schema: StandardSchema) => Codec;
  readonly low: Low;
  /** Types only; never set. */
  readonly target?: Target | undefined;
  readonly way?: W | undefined;
}

/**
 * A rule for one schema value, or for all that a guard accepts:
 * `codecFor(Money, codec('json', …))`, `codecFor((s): s is z.ZodMap => s instanceof z.ZodMap, 'json', mapCodec)`.
 */
export function codecFor<S extends StandardSchema, K extends CodecKind, W extends Way>(
  schema: S,
  codec: Codec<K, OutputOf<S>, OutputOf<S>, W>,
): CodecRule<S, K, W, false>;
export function codecFor<S extends StandardSchema, K extends CodecKind, W extends Way>(
  guard: (schema: StandardSchema) => schema is S,
  raw: K,
  codecOf: (schema: S) => Codec<K, OutputOf<S>, OutputOf<S>, W>,
): CodecRule<S, K, W, false>;
export function codecFor(
  target: StandardSchema | ((schema: StandardSchema) => boolean),
  second: Codec | CodecKind,
  codecOf?: (schema: never) => Codec,
): CodecRule {
  if (typeof second !== 'string') {
    const codec = second;
    return {
      covers: (schema) => schema === target || originalOf(schema) === target,
      raw: codec.raw,
      codecOf: () => codec,
      low: false,
    };
  }
  return {
    covers: target as (schema: StandardSchema) => boolean,
    raw: second,
    codecOf: codecOf as (schema: StandardSchema) => Codec,
    low: false,
  };
}

/** A fallback: a codec the schema carries itself wins over this rule. */
export const lowPriority = <Target, K extends CodecKind, W extends Way>(
  rule: CodecRule<Target, K, W, boolean>,
): CodecRule<Target, K, W, true> => ({ ...rule, low: true });

const own = new WeakMap<object, readonly Codec[]>();

/** A schema that carries its own codec wherever it is used. Give several for several raw kinds. */
export function withCodec<S extends StandardSchema, C extends Codec<CodecKind, OutputOf<S>, OutputOf<S>, Way>>(
  schema: S,
  ...codecs: readonly C[]
): StandardSchema<InputOf<S>, OutputOf<S>> & HasOwnCodec<C> {
  const carrier = { '~standard': schema['~standard'] } as StandardSchema<InputOf<S>, OutputOf<S>>;
  own.set(carrier, codecs);
  return carrier;
}

export function ownCodecs(schema: object): readonly Codec[] {
  const original = originalOf(schema);
  return own.get(schema) ?? (original ? ownCodecs(original) : []);
}

/** Marks a schema that carries codecs of its own (`withCodec`). */
export declare const ownCodec: unique symbol;

export interface HasOwnCodec<C> {
  readonly [ownCodec]?: C;
}
