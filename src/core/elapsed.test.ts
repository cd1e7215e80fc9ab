import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aheadMillis, hasPassed } from './elapsed.js';

test.each([
  { name: 'not before its time', since: 1_000, now: 1_099, passed: false },
  { name: 'from its time on', since: 1_000, now: 1_100, passed: true },
  { name: 'not for a moment that another clock noted a little ahead', since: 1_000, now: 900, passed: false },
  { name: 'for a moment noted by a clock that was set back since', since: 600_000, now: 0, passed: true },
])('a wait of 100 ms is over: $name', ({ since, now, passed }) => expect(hasPassed(since, 100, now)).toBe(passed));

test('no wait lasts longer than its length and what clocks differ by, whatever was noted', () =>
  fc.assert(
    fc.property(
      fc.nat(2 ** 42),
      fc.nat(2 ** 31),
      fc.nat(2 ** 42),
      (since, millis, now) =>
        [now, now + millis + aheadMillis].some((time) => hasPassed(since, millis, time)) || since > now + aheadMillis,
    ),
  ));
