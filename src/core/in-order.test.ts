import { expect, test } from 'vitest';
import { inOrder } from './in-order.js';

test.each<[string, string[], Record<string, string[]>, string[]]>([
  ['nothing', ['b', 'a'], {}, ['b', 'a']],
  ['each other, and ids that are not named', ['c', 'b', 'a'], { c: ['b', 'x'], b: ['a'] }, ['a', 'b', 'c']],
  ['themselves in a circle', ['a', 'b'], { a: ['b'], b: ['a'] }, ['b', 'a']],
])('ids that need %s are put in order', (_name, ids, needs, ordered) =>
  expect(inOrder(ids, (id) => needs[id] ?? [])).toEqual(ordered),
);

test('a chain of any length is put in order', () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => String(index));
  expect(inOrder(ids, (id) => [String(Number(id) + 1)])).toEqual(ids.toReversed());
});
