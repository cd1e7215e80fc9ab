import { z } from 'zod';
import { type Codec, codec, type Json } from './codec/codec.js';
import { floatToJson, NUMBER_WORDS } from './codec/float.js';
import { codecFor, lowPriority } from './codec/rules.js';
import { toJson } from './codec/json.js';
import { revive } from './codec/revive.js';
import { adjustSchema } from './openapi/naming.js';
import { type StandardSchema, unreadable } from './codec/standard-schema.js';
import { scalarToText, TextReader } from './codec/text.js';
import { sameValue } from './client/arguments.js';

// zod schemas that write as well as they read: z.codec, z.stringbool and everything built of them.

type Z = z.ZodType;

/** A JSON codec of a zod schema, its z.codec parts included: values are what the schema puts out, on both sides. */
export const zodCodec = <S extends Z>(schema: S): Codec<'json', z.output<S>, z.output<S>, 'both'> =>
  codec('json', {
    encode: (value: z.output<S>) => z.encode(schema, value) as Json,
    decode: (json) => decode(schema, json) as z.output<S>,
    inner: { type: schema, list: false },
  });

/** Codec of a Zod schema for path, query, header and cookie. */
export const zodText = <S extends Z>(schema: S): Codec<'text', z.output<S>, z.output<S>, 'both'> => {
  const reader = new TextReader(schema as StandardSchema);
  return codec('text', {
    encode: (value: z.output<S>) => scalarToText(z.encode(schema, value)),
    decode: (text) => reader.read(text) as z.output<S>,
    inner: { type: schema, list: false },
  });
};

/** By way of dates and bigints where the schema wants them, like every schema. */
function decode(schema: Z, json: unknown): unknown {
  const first = z.safeDecode(schema, json as never);
  if (first.success) return first.data;
  const revived = revive(json, first.error.issues);
  if (!revived) throw unreadable(first.error.issues);
  const second = z.safeDecode(schema, revived.value as never);
  if (second.success) return second.data;
  throw unreadable(second.error.issues);
}

const isZod = (schema: StandardSchema): schema is Z & StandardSchema => schema['~standard'].vendor === 'zod';

/** A codec set in which every zod schema reads and writes: `contract(name, operations, { codecs: zodCodecs })`. */
export const zodCodecs = [
  lowPriority(codecFor(isZod, 'json', (schema) => zodCodec(schema) as Codec<'json', unknown, unknown, 'both'>)),
  lowPriority(codecFor(isZod, 'text', (schema) => zodText(schema) as Codec<'text', unknown, unknown, 'both'>)),
] as const;

/** `float` inside zod's records, in a contract with `zodCodecs`: any number, NaN and the infinities as words. */
export const zodFloat: z.ZodCodec<
  z.ZodType<number | (typeof NUMBER_WORDS)[number]>,
  z.ZodCustom<number, number>
> = z.codec(
  z.union([z.number(), z.enum(NUMBER_WORDS)]),
  z.custom<number>((value) => typeof value === 'number'),
  { decode: Number, encode: floatToJson },
);

declare const codecSet: unique symbol;
/**
 * Type of a record with such a field where nothing encodes it: the compiler then reports that the record needs a codec,
 * because without one the default would have no effect on the written value.
 */
interface NeedsZodCodecs {
  readonly [codecSet]: 'contract(name, operations, { codecs: zodCodecs })';
}
type WithDefault<S extends Z> = z.ZodType<z.output<S>, NeedsZodCodecs>;

const withDefault = <S extends Z>(
  schema: S,
  value: z.output<S>,
  isLeftOut: (given: z.output<S>) => boolean,
): WithDefault<S> =>
  adjustSchema(
    z.codec(schema.optional(), z.custom<z.output<S>>(), {
      decode: (given) => (given === undefined ? value : (given as never)),
      encode: (given) => (isLeftOut(given) ? undefined : (given as never)),
    }),
    (documented) => ({ ...documented, default: toJson(z.encode(schema, value)) }),
  ) as unknown as WithDefault<S>;

/**
 * A record field with a default for readers: always there in the type, on both sides, and possibly absent on the wire.
 * In OpenAPI it is optional and shows its default. For contracts with `zodCodecs`; without, the compiler refuses it.
 */
export const whenAbsent = <S extends Z>(schema: S, value: z.output<S>): WithDefault<S> =>
  withDefault(schema, value, () => false);

/** Schema with a default whose value is left out when written if it equals the default. */
export const transientDefault = <S extends Z>(schema: S, value: z.output<S>): WithDefault<S> =>
  withDefault(schema, value, (given) => sameValue(given, value));
