import { IsOptional } from 'class-validator';
import 'reflect-metadata';
import { describe, expect, test } from 'vitest';
import { normalizeBody } from './bodies.js';
import { Int32, Nested, NestedList, Text, TextMap, Texts } from './fields.js';
import { InputPipe } from './input.pipe.js';
import { knownMembers } from './known-members.js';

class PartDto {
  @Text('name') name: string;
}
class BaseDto {
  @IsOptional() @Nested(() => PartDto) part?: PartDto;
}
class ThingDto extends BaseDto {
  @IsOptional() @NestedList(() => PartDto) parts?: PartDto[];
  @IsOptional() @TextMap() env?: Record<string, string>;
  @IsOptional() @Texts('name') owners?: string[];
  @IsOptional() @Int32() count?: number;
}

describe('of a body', () => {
  test.each([
    ['unknown members are left out, at every depth', { x: 1, part: { name: 'a', x: 2 } }, { part: { name: 'a' } }],
    ['lists of records are looked through', { parts: [{ name: 'a', x: 1 }, 'b'] }, { parts: [{ name: 'a' }, 'b'] }],
    [
      'maps stay as they were sent',
      { env: { constructor: 'a', toString: 'b' } },
      { env: { constructor: 'a', toString: 'b' } },
    ],
    ['simple values stay', { count: 'x', owners: ['a', 1] }, { count: 'x', owners: ['a', 1] }],
    [
      'objects in the place of simple values are emptied',
      { count: { a: 1 }, owners: [{ a: 1 }] },
      { count: {}, owners: [{}] },
    ],
    ['what is no member of its own is none', Object.create({ count: 1 }) as object, {}],
  ])('%s', (_name, body, left) => expect(knownMembers(body, ThingDto, false)).toEqual(left));
});

const many = Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`k${index}`, 'v']));
const fewer = Object.fromEntries(Object.entries(many).slice(0, 7_000));
const read = async (body: object): Promise<unknown> =>
  new InputPipe({ readsLoosely: false }).transform(normalizeBody(body, true), { type: 'body', metatype: ThingDto });

/** While a body is read nothing else is done: a leader that needs seconds for one leads no more. */
test.each([
  ['that are unknown', many, {}],
  ['within what is unknown', { whatever: many, part: { name: 'a', whatever: fewer } }, { part: { name: 'a' } }],
])('12,000 members and more %s are read', async (_name, body, expected) => {
  expect({ ...((await read(body)) as object) }).toEqual(expected);
});

test('a body of more than 20,000 values is refused', async () => {
  const env = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v']));
  await expect(read({ env })).rejects.toMatchObject({
    error: { rule: 'size', message: 'The body holds more than 20000 values' },
  });
});

test('a list of more than 1,000 records is refused by its name, and at most 100 problems are told', async () => {
  const parts = (count: number) => ({ part: { name: 'a' }, parts: Array.from({ length: count }, () => ({})) });
  await expect(read(parts(1_001))).rejects.toMatchObject({
    errors: [{ field: 'parts', rule: 'length', message: 'parts must have at most 1000 members' }],
  });
  const told = await read(parts(101)).catch((cause: unknown) => (cause as { errors: unknown[] }).errors);
  expect(told).toHaveLength(100);
});

test.each([
  ['a number', { count: many }, 'count'],
  ['a map of at most 10,000', { env: many }, 'env'],
  ['a text of a list', { owners: [many] }, 'owners'],
])('12,000 members in the place of %s are refused', async (_name, body, field) => {
  await expect(read(body)).rejects.toMatchObject({ errors: [{ field }] });
});
