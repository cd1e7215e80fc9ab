import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyOfOrder, namesOfKey, orderOfFile, orderOfDirectory, orderOfKey } from './object-path.js';

const part = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    '%',
    '+',
    '%+',
    '.hidden',
    'a'.repeat(199),
    'a'.repeat(200),
    `${'b'.repeat(200)}..`,
    'ü'.repeat(70),
  ),
  fc.integer({ min: 190, max: 410 }).map((length) => 'x'.repeat(length)),
);
const key = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));

/** As a directory is gone through. */
const orderOfNames = (names: readonly string[]): string =>
  orderOfFile(names.slice(0, -1).reduce(orderOfDirectory, ''), names.at(-1)!);

test('every name is one that a file may have, and leads nowhere else', () => {
  fc.assert(
    fc.property(key, (given) => {
      for (const name of namesOfKey(given)) {
        expect(name).toMatch(/^[^./\0][^/\0]*$/);
        expect(Buffer.byteLength(name)).toBeLessThan(256);
      }
    }),
  );
});

test('the names of a key tell the key, and how it sorts', () => {
  fc.assert(
    fc.property(key, (given) => {
      expect(orderOfNames(namesOfKey(given))).toBe(orderOfKey(given));
      expect(keyOfOrder(orderOfKey(given))).toBe(given);
    }),
  );
});

test('what begins a key begins it in order, too', () => {
  fc.assert(
    fc.property(key, key, (beginning, rest) => {
      expect(orderOfKey(beginning + rest).startsWith(orderOfKey(beginning, false))).toBe(true);
    }),
  );
});

test('a folder that is gone through by its names gives keys in their order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 30 }), (keys) => {
      const walk = (all: string[][], above: string): string[] => {
        const byName = groupByName(all);
        const entries = [...byName].flatMap(([name, below]) => {
          const deeper = below.filter((names) => names.length > 1).map((names) => names.slice(1));
          return [
            ...(below.some((names) => names.length === 1)
              ? [{ order: orderOfFile(above, name), deeper: undefined }]
              : []),
            ...(deeper.length > 0 ? [{ order: orderOfDirectory(above, name), deeper }] : []),
          ];
        });
        return entries
          .toSorted((a, b) => (a.order < b.order ? -1 : 1))
          .flatMap(({ order, deeper }) => (deeper ? walk(deeper, order) : [order]));
      };
      expect(walk(keys.map(namesOfKey), '')).toEqual(
        keys.map((each) => orderOfKey(each)).toSorted((a, b) => (a < b ? -1 : 1)),
      );
    }),
  );
});

function groupByName(all: string[][]): Map<string, string[][]> {
  const groups = new Map<string, string[][]>();
  for (const names of all) groups.set(names[0]!, [...(groups.get(names[0]!) ?? []), names]);
  return groups;
}
