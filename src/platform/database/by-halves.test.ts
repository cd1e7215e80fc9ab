import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byHalves } from './by-halves.js';

class Bad extends Error {}

/** Work that fails as a whole for each of `bad` that is among its items. */
async function run(items: readonly number[], bad: ReadonlySet<number>) {
  const done: number[] = [];
  const failed: number[] = [];
  await byHalves(items, {
    work: async (some) => {
      if (some.some((item) => bad.has(item))) throw new Bad();
      done.push(...some);
    },
    isAboutItems: (cause) => cause instanceof Bad,
    alone: (item) => void failed.push(item),
  });
  return { done, failed };
}

test('each item that fails is found, and all others are done once, in their order', () =>
  fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(200)), fc.array(fc.nat(200)), async (items, wrong) => {
      const bad = new Set(wrong);
      expect(await run(items, bad)).toEqual({
        done: items.filter((item) => !bad.has(item)),
        failed: items.filter((item) => bad.has(item)),
      });
    }),
  ));

test('what is about something else ends everything', async () => {
  const failing = byHalves([1, 2], {
    work: () => Promise.reject(new Error('away')),
    isAboutItems: (cause) => cause instanceof Bad,
    alone: () => expect.unreachable(),
  });
  await expect(failing).rejects.toThrow('away');
});
