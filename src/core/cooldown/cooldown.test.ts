import { expect, test } from 'vitest';
import { isFailingFast } from './index.js';

const rules = { failureThreshold: 3, windowMillis: 60_000 };
const now = 1_000_000;
const ago = (...seconds: number[]): number[] => seconds.map((each) => now - each * 1_000);

test.each([
  { name: 'enough recent failures', failures: ago(0, 30, 59), fast: true },
  { name: 'one too few', failures: ago(0, 30), fast: false },
  { name: 'one too old', failures: ago(0, 30, 60), fast: false },
  { name: 'none', failures: [], fast: false },
])('$name', ({ failures, fast }) => expect(isFailingFast(failures, rules, now)).toBe(fast));

test('a threshold of 0 switches cooldown off', () =>
  expect(isFailingFast(ago(0, 0, 0), { ...rules, failureThreshold: 0 }, now)).toBe(false));
