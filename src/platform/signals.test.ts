import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { withSignal } from './signals.js';

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
