import { expect, test } from 'vitest';
import { ReplayRate } from './replay-rate.js';

test('a caller may begin so many replays at once, and then as many as fill up again; others have their own', () => {
  const rate = new ReplayRate(3);
  const begins = (caller: string, now: number): boolean => {
    try {
      rate.take(caller, now);
      return true;
    } catch (cause) {
      expect(cause).toMatchObject({ code: 'TOO_MANY_STREAMS', message: expect.stringContaining('3') as unknown });
      return false;
    }
  };
  expect([0, 0, 0, 0].map((now) => begins('bob', now))).toEqual([true, true, true, false]);
  expect(begins('ann', 0)).toBe(true);
  expect([19_000, 20_000, 20_000].map((now) => begins('bob', now))).toEqual([false, true, false]);
  expect([200_000, 200_000, 200_000, 200_000].map((now) => begins('bob', now))).toEqual([true, true, true, false]);
});
