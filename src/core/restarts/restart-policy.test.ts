import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterFailure, nextStart, restartDelay, type InstanceFailures } from './index.js';

test.each([
  { policy: {}, delays: [1_000, 2_000, 4_000, 8_000] },
  { policy: { initialDelayMillis: 100, backoffFactor: 10, maxDelayMillis: 5_000 }, delays: [100, 1_000, 5_000, 5_000] },
  { policy: { backoffFactor: 1 }, delays: [1_000, 1_000, 1_000, 1_000] },
  { policy: { initialDelayMillis: 0 }, delays: [0, 0, 0, 0] },
  { policy: { maxDelayMillis: 500 }, delays: [500, 500, 500, 500] },
  { policy: { initialDelayMillis: 400_000 }, delays: [400_000, 400_000, 400_000, 400_000] },
])('the delays of $policy: $delays', ({ policy, delays }) =>
  expect(delays.map((_, index) => restartDelay(policy, index + 1))).toEqual(delays),
);

describe('a failure', () => {
  const policy = { resetAfterMillis: 60_000 };
  test('is the first of a row, or one more of it', () => {
    expect(afterFailure(policy, undefined, 5)).toEqual({ count: 1, lastAt: 5 });
    expect(afterFailure(policy, { count: 3, lastAt: 0 }, 63_999)).toEqual({ count: 4, lastAt: 63_999 });
  });
  test('begins a new row after the instance was up for long', () =>
    expect(afterFailure(policy, { count: 3, lastAt: 0 }, 64_000)).toEqual({ count: 1, lastAt: 64_000 }));
});

describe('the next start', () => {
  test.each<{ name: string; failures?: InstanceFailures; most?: number; is: object }>([
    { name: 'without failures', is: { kind: 'now' } },
    { name: 'within the delay', failures: { count: 2, lastAt: 99_000 }, is: { kind: 'at', at: 101_000 } },
    { name: 'after the delay', failures: { count: 2, lastAt: 98_000 }, is: { kind: 'now' } },
    { name: 'after a failure of a clock that was ahead', failures: { count: 2, lastAt: 200_000 }, is: { kind: 'now' } },
    { name: 'of the last restart', failures: { count: 3, lastAt: 0 }, most: 3, is: { kind: 'now' } },
    { name: 'beyond it', failures: { count: 4, lastAt: 0 }, most: 3, is: { kind: 'givenUp' } },
    { name: 'of none', failures: { count: 1, lastAt: 0 }, most: 0, is: { kind: 'givenUp' } },
  ])('$name', ({ failures, most, is }) => expect(nextStart({ maxRestarts: most }, failures, 100_000)).toEqual(is));
});

test('delays never shrink in a row, and never exceed the longest', () =>
  fc.assert(
    fc.property(
      fc.record({
        initialDelayMillis: fc.nat(10_000),
        backoffFactor: fc.double({ min: 1, max: 100, noNaN: true }),
        maxDelayMillis: fc.integer({ min: 10_000, max: 1_000_000 }),
      }),
      fc.integer({ min: 1, max: 5_000 }),
      (policy, failures) => {
        const delay = restartDelay(policy, failures);
        expect(delay).toBeLessThanOrEqual(policy.maxDelayMillis);
        expect(restartDelay(policy, failures + 1)).toBeGreaterThanOrEqual(delay);
      },
    ),
  ));
