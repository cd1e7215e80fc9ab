import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inParallel } from './in-parallel.js';

test('keeps the order of the items, whatever takes longest, and the limit', async () => {
  let [now, most] = [0, 0];
  const results = await inParallel([5, 1, 4, 2, 3, 0], 2, async (item) => {
    most = Math.max(most, ++now);
    await delay(item);
    now--;
    return item * 10;
  });
  expect(results).toEqual([50, 10, 40, 20, 30, 0]);
  expect(most).toBe(2);
});

test('fails with the first failure', async () => {
  const work = async (item: number) => {
    if (item === 2) throw new Error('two');
    return item;
  };
  await expect(inParallel([1, 2, 3], 2, work)).rejects.toThrow('two');
  expect(await inParallel([], 2, work)).toEqual([]);
});
