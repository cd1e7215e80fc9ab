import { expect, test } from 'vitest';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { UpdateLanes } from './update-lanes.js';

const update = (agentId: string, number: number): StatusUpdate => ({
  agentId,
  incarnation: 'i1',
  number,
  taskId: 't',
  slaveId: 's',
  state: 'TASK_RUNNING',
  timestamp: 0,
});
const updates = (agentId: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => update(agentId, from + index));

/** Lanes whose batches end when the test says so. */
function lanes(batchSize: number) {
  const batches: { names: string[]; end: (cause?: Error) => void }[] = [];
  const write = (batch: readonly StatusUpdate[]) =>
    new Promise<void>((resolve, reject) =>
      batches.push({
        names: batch.map(({ agentId, number }) => `${agentId}${number}`),
        end: (cause) => (cause ? reject(cause) : resolve()),
      }),
    );
  return { lanes: new UpdateLanes(batchSize, write), batches };
}
const turns = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('what many agents report at once goes in one batch', async () => {
  const { lanes: under, batches } = lanes(500);
  const all = Promise.all(['a', 'b', 'c'].map((agentId) => under.add([update(agentId, 1)])));
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1', 'b1', 'c1']]);
  batches[0]!.end();
  await all;
});

test('a batch is no larger than it may be, and two are written at a time', async () => {
  const { lanes: under, batches } = lanes(3);
  for (const agentId of ['a', 'b', 'c', 'd']) void under.add(updates(agentId, 2));
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
  const { lanes: under, batches } = lanes(500);
  for (const agentId of ['a', 'b']) {
    void under.add([update(agentId, 1)]);
    await turns();
  }
  for (const agentId of ['c', 'd', 'e']) void under.add([update(agentId, 1)]);
  await turns();
  batches[1]!.end();
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1'], ['b1'], ['c1', 'd1', 'e1']]);
});

test('updates of one agent are never written in two batches at a time, and others overtake them', async () => {
  const { lanes: under, batches } = lanes(500);
  void under.add(updates('a', 2));
  await turns();
  void under.add(updates('a', 2, 3));
  void under.add([update('b', 1)]);
  await turns();
  expect(batches.map(({ names }) => names)).toEqual([['a1', 'a2'], ['b1']]);
  batches[0]!.end();
  await turns();
  expect(batches[2]!.names).toEqual(['a3', 'a4']);
});

test('a batch that fails fails for all its agents, and the next ones are written', async () => {
  const { lanes: under, batches } = lanes(500);
  const outcomes = Promise.allSettled(['a', 'b'].map((agentId) => under.add([update(agentId, 1)])));
  await turns();
  batches[0]!.end(new Error('away'));
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = under.add([update('a', 1)]);
  await turns();
  batches[1]!.end();
  await next;
});
