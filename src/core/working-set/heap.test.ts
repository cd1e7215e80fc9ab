import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap } from './heap.js';

test('each key has the item that was put there last, and they come out in order', () => {
  const step = fc.record({ key: fc.nat(20).map(String), value: fc.option(fc.nat(50), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new Heap<{ key: string; value: number }>((a, b) => a.value < b.value);
      const expected = new Map<string, number>();
      for (const { key, value } of steps) {
        if (value === undefined) heap.delete(key);
        else heap.put(key, { key, value });
        if (value === undefined) expected.delete(key);
        else expected.set(key, value);
        expect(heap.size).toBe(expected.size);
      }
      const taken: [string, number][] = [];
      for (let { first } = heap; first; { first } = heap) {
        taken.push([first.key, first.value]);
        heap.delete(first.key);
      }
      expect(taken.map(([, value]) => value)).toEqual([...expected.values()].toSorted((a, b) => a - b));
      expect(Object.fromEntries(taken)).toEqual(Object.fromEntries(expected));
    }),
  );
});

test('nothing is kept of what was replaced or removed', () => {
  const heap = new Heap<number>((a, b) => a < b);
  heap.put('first', 0);
  for (let round = 0; round < 1_000; round++) {
    for (const key of ['a', 'b', 'c']) heap.put(key, 1_000 - round);
    heap.delete('c');
    heap.put('c', round);
  }
  expect([heap.size, heap.first]).toEqual([4, 0]);
  for (const key of ['first', 'a', 'b', 'c']) heap.delete(key);
  expect([heap.size, heap.first]).toEqual([0, undefined]);
});
