import { type HasOwnCodec, withCodec } from './rules.js';
import { Unreadable } from '../raw/failures.js';
import { type Codec, codec } from './codec.js';
import type { StandardSchema } from './standard-schema.js';

/** Texts in JSON for the numbers that it lacks; the same words as in text. */
export const NUMBER_WORDS = ['NaN', 'Infinity', '-Infinity'] as const;

export const floatToJson = (value: number): number | (typeof NUMBER_WORDS)[number] =>
  Number.isFinite(value) ? value : (String(value) as (typeof NUMBER_WORDS)[number]);

const anyNumber: StandardSchema<number> = {
  '~standard': {
    version: 1,
    vendor: 'rest-contract',
    validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'must be a number' }] }),
  },
};

/** Any number, also NaN and the infinities: in JSON these are the words `"NaN"`, `"Infinity"` and `"-Infinity"`. */
export const float: StandardSchema<number> & HasOwnCodec<Codec<'json', number, number, 'both'>> = withCodec(
  anyNumber,
  codec('json', {
    encode: (value: number) => {
      if (typeof value !== 'number') throw new TypeError(`${String(value)} is not a number`);
      return floatToJson(value);
    },
    decode: (json) => {
      if (typeof json === 'number') return json;
      if (NUMBER_WORDS.some((word) => word === json)) return Number(json);
      throw new Unreadable(`must be a number or one of the words ${NUMBER_WORDS.join(', ')}`);
    },
    schema: {
      oneOf: [
        { type: 'number', format: 'double' },
        { type: 'string', enum: [...NUMBER_WORDS] },
      ],
    },
  }),
);
