import fc from 'fast-check';
import { isCooldownOver, isFailingFast } from './index.js';
import { describe, expect, test } from 'vitest';

const rules = { failureThreshold: 5, windowMillis: 60_000 };
const now = 1_000_000;
const ago = (...seconds: number[]): number[] => seconds.map((each) => now - each * 1_000);

describe('failing fast', () => {
  test.each([
    { name: 'five failures within the last minute', failures: ago(0, 10, 20, 30, 59), fast: true },
    { name: 'more of them', failures: ago(0, 10, 20, 30, 40, 59, 80), fast: true },
    { name: 'one too few', failures: ago(0, 10, 20, 30), fast: false },
    { name: 'one of them exactly a minute ago', failures: ago(0, 10, 20, 30, 60), fast: false },
    { name: 'one of them a millisecond less than a minute ago', failures: ago(0, 10, 20, 30, 59.999), fast: true },
    { name: 'five at once', failures: ago(1, 1, 1, 1, 1), fast: true },
    { name: 'none', failures: [], fast: false },
  ])('$name', ({ failures, fast }) => expect(isFailingFast(failures, rules, now)).toBe(fast));

  test('a threshold of 0 switches cooldown off', () =>
    expect(isFailingFast(ago(0, 0, 0, 0, 0), { ...rules, failureThreshold: 0 }, now)).toBe(false));

  const anyFailures = fc.array(fc.integer({ min: now - 120_000, max: now }), { maxLength: 12 });
  test('the order of failures never changes the verdict', () =>
    fc.assert(
      fc.property(
        anyFailures,
        (failures) =>
          isFailingFast(failures.toReversed(), rules, now) === isFailingFast(failures, rules, now) &&
          isFailingFast(failures.toSorted(), rules, now) === isFailingFast(failures, rules, now),
      ),
    ));
  test('time alone only ends it', () =>
    fc.assert(
      fc.property(
        anyFailures,
        fc.nat({ max: 120_000 }),
        (failures, later) => isFailingFast(failures, rules, now) || !isFailingFast(failures, rules, now + later),
      ),
    ));
});

describe('a cooldown is over', () => {
  const failing = ago(0, 10, 20, 30, 40).map((timestamp) => ({ timestamp }));
  test.each([
    { name: 'not while tasks fail fast', deploy: { lastFinishAt: now, failureEvents: failing }, over: false },
    { name: 'when they do not', deploy: { lastFinishAt: now, failureEvents: failing.slice(1) }, over: true },
    { name: 'when there is no active deploy, or nothing is known of its tasks', deploy: undefined, over: true },
    { name: 'when none of its tasks has ended', deploy: { failureEvents: failing }, over: true },
  ])('$name', ({ deploy, over }) => expect(isCooldownOver(deploy, rules, now)).toBe(over));
});
