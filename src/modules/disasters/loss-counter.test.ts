import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LossCounter, type Loss } from './disaster-figures.service.js';

const loss = (id: string, at: number): Loss => ({ id, at });

test('a loss is counted once, however late it becomes known', () => {
  const counter = new LossCounter();
  const first = [loss('a', 15)];
  expect(counter.fresh(first, 1, 10)).toEqual(first);
  counter.counted(first, 1);
  const late = loss('b', 12);
  expect(counter.fresh([...first, late], 1, 20)).toEqual([late]);
});

test('a loss whose data point was not stored is counted the next time', () => {
  const counter = new LossCounter();
  counter.counted([], 1);
  expect(counter.fresh([loss('a', 15)], 1, 10)).toHaveLength(1);
  expect(counter.fresh([loss('a', 15)], 1, 10)).toHaveLength(1);
});

test('a new leader does not count what its predecessor has counted', () => {
  const counter = new LossCounter();
  counter.counted([loss('a', 5)], 1);
  const found = [loss('b', 15), loss('c', 20), loss('d', 21)];
  expect(counter.fresh(found, 3, 20)).toEqual([loss('d', 21)]);
});

test('over any sequence of looks each loss is counted exactly once', () => {
  const losses = fc.uniqueArray(fc.record({ id: fc.nat({ max: 30 }), knownAt: fc.nat({ max: 9 }) }), {
    selector: ({ id }) => id,
  });
  fc.assert(
    fc.property(losses, (all) => {
      const counter = new LossCounter();
      counter.counted([], 1);
      const counted: string[] = [];
      for (let look = 0; look < 10; look++) {
        const found = all.filter(({ knownAt }) => knownAt <= look).map(({ id }) => loss(String(id), 0));
        counted.push(...counter.fresh(found, 1, look).map(({ id }) => id));
        counter.counted(found, 1);
      }
      expect(counted.toSorted()).toEqual(all.map(({ id }) => String(id)).toSorted());
    }),
  );
});
