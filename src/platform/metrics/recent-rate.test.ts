import { expect, test } from 'vitest';
import { RecentRate } from './placement-figures.js';

test('counts what happened within the last sixty seconds, and nothing older', () => {
  const rate = new RecentRate();
  expect(rate.perSecond(1_000)).toBe(0);
  rate.add(60, 1_000);
  rate.add(30, 1_999);
  rate.add(30, 30_500);
  expect(rate.perSecond(60_999)).toBe(2);
  expect(rate.perSecond(61_000)).toBe(0.5);
  expect(rate.perSecond(90_999)).toBe(0);
});

test('a second takes the place of the one that was a minute before', () => {
  const rate = new RecentRate();
  rate.add(600, 5_000);
  rate.add(6, 65_000);
  expect(rate.perSecond(65_000)).toBe(0.1);
});
