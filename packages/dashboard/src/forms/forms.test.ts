import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLargeScaleDown } from '../actions/large-scale-down';
import { listToText, mapToText, textToList, textToMap, valueAt, withValue } from './document';
import { nextId } from './next-id';

test('a value that is set is there, other members stay, and taking it out leaves the document as it was', () =>
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
      fc.integer(),
      (names, value) => {
        const path = `new.${names.join('.')}`;
        const document = { unknown: { deep: [1] }, a: 1 };
        const changed = withValue(document, path, value);
        expect(valueAt(changed, path)).toBe(value);
        expect(changed).toMatchObject(document);
        expect(withValue(changed, path, undefined)).toEqual(document);
      },
    ),
  ));

test('lines of a form become what the document has, and back', () => {
  expect(textToMap('A=1\nB=x=y\n\nC')).toEqual({ A: '1', B: 'x=y', C: '' });
  expect(mapToText({ A: '1', B: 'x=y' })).toBe('A=1\nB=x=y');
  expect(textToMap(' \n')).toBeUndefined();
  expect(textToList('a\n\n b')).toEqual(['a', ' b']);
  expect(listToText(['a', 'b'])).toBe('a\nb');
  expect(textToList('')).toBeUndefined();
});

test.each([
  ['v1', 'v2'],
  ['v9', 'v10'],
  ['2026-009', '2026-010'],
  ['final', 'final-2'],
])('after %s comes %s', (id, next) => expect(nextId(id)).toBe(next));

test.each([
  [10, 5, false],
  [10, 4, true],
  [30, 19, true],
  [30, 20, false],
  [3, 5, false],
])('from %i to %i is a large scale-down: %s', (from, to, isLarge) => expect(isLargeScaleDown(from, to)).toBe(isLarge));
