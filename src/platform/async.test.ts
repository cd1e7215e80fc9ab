import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { fairly, inParallel, withSignal } from './async.js';

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

test('does the rest after a failure, and fails in the end', async () => {
  const done: number[] = [];
  const work = async (item: number) => {
    if (item <= 2) throw new Error(`failure ${item}`);
    done.push(item);
  };
  await expect(inParallel([1, 2, 3, 4, 5], 2, work)).rejects.toThrow('failure 1');
  expect(done).toEqual([3, 4, 5]);
});

test('begins no further item after a failure where that is asked for', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    if (item === 2) throw new Error('two');
    await delay(1);
  };
  await expect(inParallel([1, 2, 3, 4], 2, work, { stopAtFailure: true })).rejects.toThrow('two');
  await delay(5);
  expect(begun).toEqual([1, 2]);
});

test('leaves the rest undone when it is enough', async () => {
  let sum = 0;
  const work = async (item: number) => (sum += item);
  expect(await inParallel([1, 2, 3, 4], 1, work, { isEnough: () => sum >= 3 })).toEqual([1, 3, undefined, undefined]);
});

test('gives other work its turn between many items', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const end = performance.now() + 100;
  await inParallel(Array.from({ length: 10_000 }), 1, async () => {
    const until = Math.min(performance.now() + 0.1, end);
    while (performance.now() < until);
  });
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
});

test('a group whose work takes long makes no other one wait', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const done: string[] = [];
  const items = ['slow 1', 'slow 2', 'slow 3', 'quick 1', 'quick 2', 'quick 3'];
  const work = async (item: string) => {
    if (item.startsWith('slow')) await held;
    done.push(item);
    if (done.length === 3) release();
    return item;
  };
  const groupOf = (item: string) => item.split(' ')[0];
  expect(await fairly(items, { groupOf, atMost: 2, forMillis: 60_000 }, work)).toEqual(items);
  expect(done.slice(0, 3)).toEqual(['quick 1', 'quick 2', 'quick 3']);
});

test('begins nothing when the time is over, and fails in the end', async () => {
  const rules = { groupOf: (item: number) => String(item % 2), atMost: 1 };
  const work = async (item: number) => {
    if (item === 1) throw new Error('one');
    return item;
  };
  expect(await fairly([1, 2, 3], { ...rules, forMillis: 0 }, work)).toEqual([undefined, undefined, undefined]);
  await expect(fairly([1, 2, 3], { ...rules, forMillis: 60_000 }, work)).rejects.toThrow('one');
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const untilAborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

test('work ends by a time limit that nothing else refers to', async () => {
  const { signal } = new AbortController();
  const limited = () => withSignal([signal, undefined, AbortSignal.timeout(300)], untilAborted);
  const works = Array.from({ length: 50 }, limited);
  for (let rounds = 0; rounds < 3; rounds++) {
    collectGarbage();
    await delay(1);
  }
  for (const reason of await Promise.all(works)) expect(reason).toMatchObject({ name: 'TimeoutError' });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('work ends with the first of its sources, for its reason', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const work = withSignal([one.signal, other.signal], untilAborted);
  other.abort('second');
  one.abort('first');
  expect(await work).toBe('second');
});

test('work that begins when one of its sources has aborted is told so', async () => {
  const [one, other] = [AbortSignal.abort('before'), new AbortController().signal];
  expect(await withSignal([other, one], ({ reason }) => Promise.resolve(reason as unknown))).toBe('before');
});

test('a source that lasts keeps nothing of works that have failed', async () => {
  const { signal } = new AbortController();
  for (let count = 0; count < 20; count++)
    await expect(withSignal([signal], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
