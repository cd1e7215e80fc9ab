import { expect, test } from 'vitest';
import { Gathered } from './gathered.js';

function gathered(most = 10) {
  const batches: number[][] = [];
  const open: { resolve: () => void; reject: (cause: Error) => void }[] = [];
  const write = (items: number[]) =>
    new Promise<void>((resolve, reject) => {
      batches.push(items);
      open.push({ resolve, reject });
    });
  return { batches, open, queue: new Gathered(most, write) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what comes while a batch is written goes into the next one, in order', async () => {
  const { batches, open, queue } = gathered();
  const first = queue.add([1]);
  await turn();
  const later = [queue.add([2, 3]), queue.add([4])];
  expect(batches).toEqual([[1]]);
  open[0]!.resolve();
  await first;
  await turn();
  expect(batches).toEqual([[1], [2, 3, 4]]);
  open[1]!.resolve();
  await Promise.all(later);
});

test('a batch is no larger than allowed, but calls are never torn apart', async () => {
  const { batches, open, queue } = gathered(3);
  const calls = [queue.add([1, 2]), queue.add([3, 4]), queue.add([5]), queue.add([6, 7, 8, 9])];
  for (let index = 0; index < 3; index++) {
    await turn();
    open[index]!.resolve();
  }
  await Promise.all(calls);
  expect(batches).toEqual([
    [1, 2],
    [3, 4, 5],
    [6, 7, 8, 9],
  ]);
});

test('a batch that fails fails its own calls only', async () => {
  const { open, queue } = gathered(1);
  const [first, second] = [queue.add([1]), queue.add([2])];
  const failed = expect(first).rejects.toThrow('no');
  await turn();
  open[0]!.reject(new Error('no'));
  await failed;
  await turn();
  open[1]!.resolve();
  await second;
});
