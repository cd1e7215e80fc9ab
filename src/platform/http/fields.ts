import { applyDecorators, type Type as ClassOf } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
  registerDecorator,
  ValidateNested,
  type ValidationArguments,
} from 'class-validator';
import {
  lastMillis,
  longestMillis,
  longestSeconds,
  longestText,
  mostMembers,
  mostRecords,
  type TextKind,
} from './input-limits.js';
import { keepsNumbers, textOf } from './json-text.js';
import { Holds } from './known-members.js';

/*
 * Validators for the fields of bodies, beside those of class-validator that need no limit (IsBoolean, IsOptional), which are
 * used as they are. Each refuses what looks like its type but is not: numbers sent as text, 2.7 for an integer. And each has a
 * limit, of length, number or size, which is looked at before anything else reads the value.
 */

const int32 = { min: -2_147_483_648, max: 2_147_483_647 };
const mostDecimal = 1_000_000_000_000;

/** Callers may leave it out, although records that are answered always have it. */
export const MayBeLeftOut = () => applyDecorators(IsOptional(), ApiProperty({ required: false }));

/** A text of this kind, no longer than such texts are, or than this one may be. */
export const Text = (kind: TextKind, most: number = longestText[kind]) =>
  applyDecorators(
    IsString(),
    is('length', `must have at most ${most} characters`, (value) => typeof value !== 'string' || value.length <= most),
    ApiProperty({ type: 'string', maxLength: most }),
  );

/** A whole number, by default not negative. */
export const Int32 = ({ min = 0, max = int32.max }: { min?: number; max?: number } = {}) =>
  applyDecorators(
    IsInt(),
    Min(min),
    Max(max),
    ApiProperty({ type: 'integer', format: 'int32', minimum: min, maximum: max }),
  );

const int64 = (max: number, min = 0) =>
  applyDecorators(
    IsInt(),
    Min(min),
    Max(max),
    ApiProperty({ type: 'integer', format: 'int64', minimum: min, maximum: max }),
  );

/** A number of bytes. */
export const Bytes = () => int64(Number.MAX_SAFE_INTEGER);

/** A duration. */
export const Millis = (max: number = longestMillis, min = 0) => int64(max, min);
/** A duration that is not 0. */
export const SomeMillis = (max?: number) => Millis(max, 1);
export const Seconds = () => int64(longestSeconds);
export const Seconds32 = () => Int32({ max: longestSeconds });

/** A point in time: epoch milliseconds. */
export const Timestamp = () =>
  applyDecorators(
    IsInt({ message: '$property must be a time in epoch milliseconds' }),
    Min(0),
    Max(lastMillis),
    ApiProperty({ type: 'integer', format: 'int64', minimum: 0, maximum: lastMillis }),
  );

/** A number of cores or MB, or a share. More than any cluster has is a mistake. */
export const Decimal = () =>
  applyDecorators(
    IsNumber(),
    Min(0),
    Max(mostDecimal),
    ApiProperty({ type: 'number', format: 'double', minimum: 0, maximum: mostDecimal }),
  );

/** A number within these. */
export const Between = (min: number, max: number) =>
  applyDecorators(
    IsNumber(),
    Min(min),
    Max(max),
    ApiProperty({ type: 'number', format: 'double', minimum: min, maximum: max }),
  );

/** A number from 0 to 1. */
export const Fraction = () => Between(0, 1);

/** One of a list of words, spelt exactly so. `enumName`: name of the enumeration in the served document. */
export const OneOf = (values: readonly string[], enumName?: string) =>
  applyDecorators(
    IsIn([...values]),
    ApiProperty(enumName ? { enum: [...values], enumName } : { type: 'string', enum: [...values] }),
  );

/** A list of texts of this kind. */
export const Texts = (kind: TextKind) =>
  applyDecorators(
    IsArray(),
    IsString({ each: true }),
    is('length', `must have at most ${mostMembers} members, of at most ${longestText[kind]} characters each`, (value) =>
      isSmall(value, kind),
    ),
    ApiProperty({ type: 'array', maxItems: mostMembers, items: { type: 'string', maxLength: longestText[kind] } }),
  );

/** A list of whole numbers. */
export const Integers = ({ min, max, what }: { min: number; max: number; what: string }) =>
  applyDecorators(
    is(
      'type',
      `must be a list of ${what}`,
      (value) => Array.isArray(value) && value.every((one) => Number.isInteger(one) && one >= min && one <= max),
    ),
    Holds('NUMBERS'),
    is('length', `must have at most ${mostMembers} members`, (value) => isSmall(value, 'name')),
    ApiProperty({
      type: 'array',
      maxItems: mostMembers,
      items: { type: 'integer', format: 'int32', minimum: min, maximum: max },
    }),
  );

/** A record inside a record. */
export const Nested = (type: () => ClassOf) =>
  applyDecorators(IsObject(), ValidateNested(), Type(type), Holds({ records: type }));

/** A list of records; with bounds, of at least one where it is given, and of at most `most`. */
export const NestedList = (type: () => ClassOf, most?: number) =>
  applyDecorators(
    is('type', 'must be a list of objects', (value) => Array.isArray(value) && value.every(isMap)),
    ...(most === undefined ? [] : countBetweenOneAnd(most)),
    ValidateNested({ each: true }),
    Type(type),
    Holds({ records: type }),
    ApiProperty({
      type: () => type(),
      isArray: true,
      maxItems: most ?? mostRecords,
      ...(most !== undefined && { minItems: 1 }),
    }),
  );

const countBetweenOneAnd = (most: number) => [
  is('min', 'must have at least one member, or be left out', (value) => !Array.isArray(value) || value.length > 0),
  is('max', `must have at most ${most} members`, (value) => !Array.isArray(value) || value.length <= most),
];

const textMapSchema = {
  type: 'object',
  maxProperties: mostMembers,
  additionalProperties: { type: 'string', maxLength: longestText.command },
} as const;

/** A map of text to text. Numbers and booleans are taken as they are written, since generated files contain them. */
export const TextMap = () =>
  applyDecorators(
    raw(withTexts),
    is('textMap', 'must be a map of text to text', (value) => everyValue(value, isText)),
    Small('command'),
    ApiProperty(textMapSchema),
  );

/** A map of text to maps of text to text. */
export const TextMaps = () =>
  applyDecorators(
    raw((value) => mapValues(value, withTexts)),
    is('textMap', 'must be a map of text to maps of text to text', (value) =>
      everyValue(value, (inner) => everyValue(inner, isText)),
    ),
    Small('command'),
    ApiProperty({ type: 'object', maxProperties: mostMembers, additionalProperties: textMapSchema }),
  );

const longestObject = 65_536;

/** Any JSON object, kept as it was sent. */
export const AnyObject = () =>
  applyDecorators(
    raw((value) => value),
    IsObject(),
    is(
      'number',
      'holds a number with more digits than a number keeps: send it as text',
      (value) => !isMap(value) || keepsNumbers(value),
    ),
    is('length', `must have at most ${longestObject} characters as JSON`, (value) =>
      isMap(value) ? JSON.stringify(value).length <= longestObject : true,
    ),
    ApiProperty({ type: 'object', additionalProperties: true, maxProperties: mostMembers }),
  );
/** Lists, maps and texts of this kind inside of what is kept as it was sent: none larger than elsewhere. */
export const Small = (kind: TextKind): PropertyDecorator =>
  is(
    'length',
    `must hold no more than ${mostMembers} members, no key longer than ${longestText.name} characters and no text longer than ${longestText[kind]}`,
    (value) => isSmall(value, kind),
  );

export function isSmall(value: unknown, kind: TextKind): boolean {
  if (Array.isArray(value)) return value.length <= mostMembers && value.every((member) => isSmall(member, kind));
  if (!isMap(value)) return isShort(value, kind);
  const entries = Object.entries(value);
  return entries.length <= mostMembers && entries.every(([key, inner]) => isShort(key, 'name') && isSmall(inner, kind));
}

/** True for a value that is no text: another rule refuses it. */
export const isShort = (value: unknown, kind: TextKind): boolean =>
  typeof value !== 'string' || value.length <= longestText[kind];

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
const mapValues = (value: unknown, convert: (member: unknown, name: string, map: object) => unknown): unknown =>
  isMap(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, convert(member, name, value)]))
    : value;
const withTexts = (value: unknown): unknown => mapValues(value, (member, name, map) => textOf(map, name, member));
const isText = (value: unknown): boolean => typeof value === 'string';

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
