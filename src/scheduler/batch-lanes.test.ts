import { expect, test } from 'vitest';
import { BatchLanes } from './batch-lanes.js';

interface Item {
  sender: string;
  number: number;
}

const items = (sender: string, count: number, from = 1): Item[] =>
  Array.from({ length: count }, (_, index) => ({ sender, number: from + index }));

/** Lanes whose batches end when the test says so. */
function lanes(batchSize: number, atATime = 2) {
  const batches: { names: string[]; end: (cause?: Error) => void }[] = [];
  const write = (batch: readonly Item[]) =>
    new Promise<void>((resolve, reject) =>
      batches.push({
        names: batch.map(({ sender, number }) => `${sender}${number}`),
        end: (cause) => (cause ? reject(cause) : resolve()),
      }),
    );
  const under = new BatchLanes<Item>(batchSize, atATime, write);
  const add = (sender: string, count = 1, from = 1) => under.add(sender, items(sender, count, from));
  return { under, add, batches };
}
const turns = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('what many senders bring at once goes in one batch', async () => {
  const { add, batches } = lanes(500);
  const all = Promise.all(['a', 'b', 'c'].map((sender) => add(sender)));
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1', 'b1', 'c1']]);
  batches[0]!.end();
  await all;
});

test('a batch is no larger than it may be, and two are written at a time', async () => {
  const { under, add, batches } = lanes(3);
  for (const sender of ['a', 'b', 'c', 'd']) void add(sender, 2);
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([
    ['a1', 'a2'],
    ['b1', 'b2'],
  ]);
  expect(under.backlog).toBe(4);
  batches[0]!.end();
  await turns();
  expect(batches[2]!.names).toEqual(['c1', 'c2']);
});

test('whatever arrives while batches are written goes together in the next one', async () => {
  const { add, batches } = lanes(500);
  for (const sender of ['a', 'b']) {
    void add(sender);
    await turns();
  }
  for (const sender of ['c', 'd', 'e']) void add(sender);
  await turns();
  batches[1]!.end();
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1'], ['b1'], ['c1', 'd1', 'e1']]);
});

test('what one sender brings is never written in two batches at a time, and others overtake them', async () => {
  const { add, batches } = lanes(500);
  void add('a', 2);
  await turns();
  void add('a', 2, 3);
  void add('b');
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1', 'a2'], ['b1']]);
  batches[0]!.end();
  await turns();
  expect(batches[2]!.names).toEqual(['a3', 'a4']);
});

test('a batch that fails fails for all its senders, and the next ones are written', async () => {
  const { add, batches } = lanes(500);
  const outcomes = Promise.allSettled(['a', 'b'].map((sender) => add(sender)));
  await turns();
  batches[0]!.end(new Error('away'));
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = add('a');
  await turns();
  batches[1]!.end();
  await next;
});

test('with one lane, what comes while a batch is written goes into the next one, in order', async () => {
  const { add, batches } = lanes(10, 1);
  const first = add('a');
  await turns();
  const later = [add('b', 2, 2), add('c', 1, 4)];
  expect(batches.map(({ names }) => names)).toEqual([['a1']]);
  batches[0]!.end();
  await first;
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1'], ['b2', 'b3', 'c4']]);
  batches[1]!.end();
  await Promise.all(later);
});

test('a batch is no larger than allowed, but calls are never torn apart', async () => {
  const { add, batches } = lanes(3, 1);
  const calls = [add('a', 2), add('a', 2, 3), add('a', 1, 5), add('a', 4, 6)];
  for (let index = 0; index < 3; index++) {
    await turns();
    batches[index]!.end();
  }
  await Promise.all(calls);
  expect(batches.map(({ names }) => names)).toEqual([
    ['a1', 'a2'],
    ['a3', 'a4', 'a5'],
    ['a6', 'a7', 'a8', 'a9'],
  ]);
});

test('a batch that fails fails its own calls only', async () => {
  const { add, batches } = lanes(1, 1);
  const [first, second] = [add('a'), add('b')];
  const failed = expect(first).rejects.toThrow('no');
  await turns();
  batches[0]!.end(new Error('no'));
  await failed;
  await turns();
  batches[1]!.end();
  await second;
});
