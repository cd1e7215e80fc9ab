import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsBoolean, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Text, Texts } from './fields.js';
import { lastMillis, mostRecords, type TextKind } from './input-limits.js';

/*
 * Fields of a query class (`@Query() query: ListQuery`). All are optional: clients send every parameter they know with
 * an empty, 'undefined', 'null' or zero value, which means "not given". What cannot be read stays as it came, so that
 * the validator beside the transform names it in a 400.
 */

const notGivenWords = new Set(['', 'undefined', 'null']);
export const isNotGiven = (value: unknown): boolean => typeof value === 'string' && notGivenWords.has(value);

/** true or false in any case; anything else comes back as it was. */
export function readBoolean(value: unknown): unknown {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  return text === 'true' ? true : text === 'false' ? false : value;
}

/** A whole number in decimal digits, of any size; anything else comes back as it was. */
export const readInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d{1,30}$/.test(value) ? Number(value) : value;

/** `system-cooldown`, `System.Cooldown` and SYSTEM_COOLDOWN are one word. */
const readWord = (value: unknown): unknown =>
  typeof value === 'string' ? value.toUpperCase().replaceAll(/[-.]/g, '_') : value;

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
const transform = (read: (value: unknown) => unknown) => Transform(({ value }: { value: unknown }) => read(value));

export const QueryBoolean = () =>
  applyDecorators(IsOptional(), transform(readBoolean), IsBoolean(), ApiPropertyOptional({ type: 'boolean' }));

interface IntOptions {
  max?: number;
  takenAs?: number;
  read?: (value: unknown) => unknown;
  /** In words, for those who send something else. */
  what?: string;
}
/** A whole number from 1; zero means not given. Numbers up to max above `takenAs` are taken as that one. */
export const QueryInt = ({ max = 2_147_483_647, takenAs = max, read = readInteger, what }: IntOptions = {}) =>
  applyDecorators(
    IsOptional(),
    transform((value) => {
      const number = read(value);
      if (number === 0) return undefined;
      return typeof number === 'number' && number <= max ? Math.min(number, takenAs) : number;
    }),
    IsInt(what === undefined ? {} : { message: `$property must be ${what}` }),
    Min(1),
    Max(max),
    ApiPropertyOptional({ type: 'integer', format: max > 2_147_483_647 ? 'int64' : 'int32', minimum: 0, maximum: max }),
  );

/** Whole numbers from 1; the parameter may be repeated. */
export const QueryInts = () =>
  applyDecorators(
    IsOptional(),
    transform((value) => list(value).map(readInteger)),
    IsInt({ each: true }),
    Min(1, { each: true }),
    Max(Number.MAX_SAFE_INTEGER, { each: true }),
    ArrayMaxSize(mostRecords),
    ApiPropertyOptional({
      type: 'array',
      maxItems: mostRecords,
      items: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    }),
  );

/** True if a call asks for a page: then `limit` is the length of the page. */
export const asksForPage = ({ cursor }: { cursor?: unknown }): boolean =>
  typeof cursor === 'string' && !isNotGiven(cursor);

/** The greatest length of a list; where a call asks for pages it is the length of a page, which does not concern the handler. */
export const QueryLimit = () =>
  applyDecorators(
    QueryInt(),
    Transform(({ value, obj }: { value: unknown; obj: { cursor?: unknown } }) =>
      asksForPage(obj) ? undefined : value,
    ),
  );

/** A day, or a day and a time; a zone that is left out is UTC, and the + of one is a blank where an address was not encoded. */
const isoTime = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|([ +-]\d\d:\d\d))?)?$/;

/** Epoch milliseconds of an ISO 8601 text; anything else comes back as it was. */
export function readTime(value: unknown): unknown {
  const found = typeof value === 'string' ? isoTime.exec(value) : null;
  if (!found) return value;
  const [, day, time = '00:00', zone = 'Z'] = found;
  const millis = Date.parse(`${day}T${time}${zone.replace(' ', '+')}`);
  return Number.isNaN(millis) ? value : String(millis);
}

/**
 * A point in time, in epoch milliseconds or as ISO 8601 (`2026-01-05`, `2026-01-05T12:00:00Z`); zero means not given. Clients send
 * the greatest number for "no end".
 */
export const QueryTimestamp = () =>
  QueryInt({
    max: Number.MAX_SAFE_INTEGER,
    takenAs: lastMillis,
    read: (value) => readInteger(readTime(value)),
    what: 'a time in epoch milliseconds or as ISO 8601, such as 2026-01-05T12:00:00Z',
  });

export const QueryText = (kind: TextKind) => applyDecorators(IsOptional(), Text(kind), ApiPropertyOptional());

/** A parameter that may be repeated. */
export const QueryTexts = (kind: TextKind) =>
  applyDecorators(IsOptional(), transform(list), Texts(kind), ApiPropertyOptional());

export const QueryWord = (words: readonly string[]) =>
  applyDecorators(
    IsOptional(),
    transform(readWord),
    IsIn([...words]),
    ApiPropertyOptional({ type: 'string', enum: [...words] }),
  );

/** A word as a part of the path, which is always given. Newer clients say "agent" there where our words say "slave". */
export const PathWord = (words: readonly string[]) => {
  const ours = new Map(words.map((word) => [word.replace('SLAVE', 'AGENT'), word]));
  const read = (value: unknown): unknown => ours.get(readWord(value) as string) ?? readWord(value);
  return applyDecorators(transform(read), IsIn([...words]), ApiProperty({ type: 'string', enum: [...words] }));
};

/** One of the words, and the parameter may be repeated. */
export const QueryWords = (words: readonly string[]) =>
  applyDecorators(
    IsOptional(),
    transform((value) => list(value).map(readWord)),
    IsIn([...words], { each: true }),
    ArrayMaxSize(mostRecords),
    ApiPropertyOptional({ type: 'array', maxItems: mostRecords, items: { type: 'string', enum: [...words] } }),
  );
