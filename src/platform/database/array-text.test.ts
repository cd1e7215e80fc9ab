import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { arrayText } from './array-text.js';

let test_: TestDatabase;
beforeAll(async () => {
  test_ = await createTestDatabase();
});
afterAll(() => test_.drop());

/** Texts that PostgreSQL can store, and that have what quotes, brackets and escapes are made of. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '{', '}', ',', 'n', ' ', '\u007f', '\u2028', 'é', '😀') }),
  fc.constantFrom('', 'NULL', 'null', '{}', '\\u0041'),
);

test('every array comes back from the server as it was sent', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(text)),
      fc.array(fc.option(fc.double({ noNaN: false }))),
      fc.array(fc.option(fc.boolean())),
      async (texts, numbers, booleans) => {
        const answer: unknown = await test_.database.pool.query(
          'SELECT $1::text[] AS texts, $2::float8[] AS numbers, $3::boolean[] AS booleans',
          [texts, numbers, booleans],
        );

        expect(answer).toEqual([{ texts, numbers: numbers.map((number) => (number === 0 ? 0 : number)), booleans }]);
      },
    ),
    { numRuns: 200 },
  );
});

test.each([
  { what: 'texts', items: ['a', 'b "c", {d}', null, undefined], text: '{"a","b \\"c\\", {d}",null,null}' },
  { what: 'numbers', items: [1, 2.5, -3], text: '{1,2.5,-3}' },
  { what: 'nothing', items: [], text: '{}' },
])('$what: written as JSON is', ({ items, text: written }) => expect(arrayText(items)).toBe(written));

test.each([
  { what: 'line breaks', items: ['a\nb'] },
  { what: 'backslashes', items: ['a\\n'] },
  { what: 'half of a character', items: ['\ud800'] },
  { what: 'what is no number', items: [Number.NaN] },
  { what: 'dates', items: [new Date(0)] },
  { what: 'documents', items: [{ a: 1 }] },
  { what: 'arrays', items: [[1]] },
])('$what: left to the driver', ({ items }) => expect(arrayText(items)).toBeUndefined());
