import { applyDecorators, type Type as ClassOf } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsString,
  Max,
  Min,
  registerDecorator,
  ValidateNested,
  type ValidationArguments,
} from 'class-validator';
import { Holds } from './known-members.js';

/*
 * Validators for the fields of bodies, beside those of class-validator (IsString, IsBoolean, IsIn, IsOptional), which are
 * used as they are. Each refuses what looks like its type but is not: numbers sent as text, 2.7 for an integer.
 */

const int32 = { min: -2_147_483_648, max: 2_147_483_647 };
/** The last millisecond that both JavaScript and PostgreSQL write with four digits of year. */
const lastMillis = 253_402_300_799_999;

/** A whole number, by default not negative. */
export const Int32 = ({ min = 0, max = int32.max }: { min?: number; max?: number } = {}) =>
  applyDecorators(IsInt(), Min(min), Max(max), ApiProperty({ type: 'integer', format: 'int32', minimum: min }));

/** A whole number of milliseconds, bytes, seconds, ..., by default not negative. */
export const Int64 = ({ min = 0 }: { min?: number } = {}) =>
  applyDecorators(
    IsInt(),
    Min(min),
    Max(Number.MAX_SAFE_INTEGER),
    ApiProperty({ type: 'integer', format: 'int64', minimum: min }),
  );

/** A point in time: epoch milliseconds. */
export const Timestamp = () =>
  applyDecorators(
    IsInt(),
    Min(0),
    Max(lastMillis),
    ApiProperty({ type: 'integer', format: 'int64', minimum: 0, maximum: lastMillis }),
  );

/** Any finite number, by default not negative. */
export const Decimal = ({ min = 0 }: { min?: number } = {}) =>
  applyDecorators(IsNumber(), Min(min), ApiProperty({ type: 'number', format: 'double', minimum: min }));

/** A number from 0 to 1. */
export const Fraction = () =>
  applyDecorators(
    IsNumber(),
    Min(0),
    Max(1),
    ApiProperty({ type: 'number', format: 'double', minimum: 0, maximum: 1 }),
  );

/** One of a list of words, spelt exactly so. `enumName`: name of the enumeration in the served document. */
export const OneOf = (values: readonly string[], enumName?: string) =>
  applyDecorators(
    IsIn([...values]),
    ApiProperty(enumName ? { enum: [...values], enumName } : { type: 'string', enum: [...values] }),
  );

/** A list of texts. */
export const Texts = () =>
  applyDecorators(IsArray(), IsString({ each: true }), ApiProperty({ type: 'array', items: { type: 'string' } }));

/** A record inside a record. */
export const Nested = (type: () => ClassOf) =>
  applyDecorators(IsObject(), ValidateNested(), Type(type), Holds({ records: type }));

/** A list of records. */
export const NestedList = (type: () => ClassOf) =>
  applyDecorators(
    is('type', 'must be a list of objects', (value) => Array.isArray(value) && value.every(isMap)),
    ValidateNested({ each: true }),
    Type(type),
    Holds({ records: type }),
  );

/** A map of text to text. Numbers and booleans are taken as their text, since generated files contain them. */
export const TextMap = () =>
  applyDecorators(
    raw((value) => mapValues(value, toText)),
    is('textMap', 'must be a map of text to text', (value) => everyValue(value, isText)),
    ApiProperty({ type: 'object', additionalProperties: { type: 'string' } }),
  );

/** A map of text to maps of text to text. */
export const TextMaps = () =>
  applyDecorators(
    raw((value) => mapValues(value, (inner) => mapValues(inner, toText))),
    is('textMap', 'must be a map of text to maps of text to text', (value) =>
      everyValue(value, (inner) => everyValue(inner, isText)),
    ),
    ApiProperty({
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    }),
  );

/** Any JSON object, kept as it was sent. */
export const AnyObject = () =>
  applyDecorators(
    raw((value) => value),
    IsObject(),
    ApiProperty({ type: 'object', additionalProperties: true }),
  );

/** A rule of one's own: the field must satisfy `holds`, else "<field> <message>". */
export const is =
  (rule: string, message: string, holds: (value: unknown) => boolean): PropertyDecorator =>
  (target, propertyName) =>
    registerDecorator({
      name: rule,
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: ({ property }: ValidationArguments) => `${property} ${message}` },
      validator: { validate: holds },
    });

/**
 * Hands the value over as it was sent: class-transformer would rebuild maps, lose some of their keys, take a key
 * "constructor" for the class to make, and need seconds for a large one. A boolean it makes at once, and that is not used.
 */
export const raw = (convert: (value: unknown) => unknown): PropertyDecorator =>
  applyDecorators(
    Holds('AS_SENT'),
    Type(() => Boolean),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => convert(obj[key])),
  );

export const isMap = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
export const everyValue = (value: unknown, holds: (member: unknown) => boolean): boolean =>
  isMap(value) && Object.values(value).every(holds);
const mapValues = (value: unknown, convert: (member: unknown) => unknown): unknown =>
  isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, convert(member)])) : value;
const isText = (value: unknown): boolean => typeof value === 'string';
const toText = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

type OlderName = ApiPropertyOptions & {
  /** The member that has taken its place. */
  of: string;
};

/** On a record: names under which older clients know members of it. They may stand in what is sent, never in answers. */
export const OlderNames =
  (names: Readonly<Record<string, OlderName>>): ClassDecorator =>
  ({ prototype }) => {
    for (const [name, { of, ...schema }] of Object.entries(names)) {
      const description = `Older name of ${of}. Answers never have it.`;
      ApiProperty({ ...schema, description, required: false, writeOnly: true } as ApiPropertyOptions)(
        prototype as object,
        name,
      );
    }
  };
