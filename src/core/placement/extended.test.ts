import fc from 'fast-check';
import { expect, test } from 'vitest';
import { missingExtended, sumOfExtended } from './extended.js';

const counts = fc.dictionary(fc.constantFrom('a/x', 'a/y', 'b/z'), fc.integer({ min: 1, max: 9 }));

test('what is added and taken away again leaves what was there', () =>
  fc.assert(
    fc.property(counts, counts, (before, others) => {
      const sum = sumOfExtended(before, others);
      expect(sumOfExtended(sum, others, -1) ?? {}).toEqual(before);
    }),
  ));

test.each([
  [undefined, undefined, undefined],
  [undefined, { 'a/x': 1 }, undefined],
  [{ 'a/x': 1 }, undefined, 'a/x'],
  [{ 'a/x': 1 }, { 'a/x': 1 }, undefined],
  [{ 'a/x': 2, 'a/y': 1 }, { 'a/x': 1 }, 'a/x'],
  [{ 'a/x': 1, 'a/y': 1 }, { 'a/x': 1 }, 'a/y'],
  [{ 'a/x': 1 }, { 'a/x': -1 }, 'a/x'],
])('of %o with %o free, %s is missing', (asked, free, missing) => expect(missingExtended(asked, free)).toBe(missing));
