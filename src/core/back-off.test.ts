import { expect, test } from 'vitest';
import { backOffMillis } from './back-off.js';

test.each([
  { failuresInRow: 0, pause: 100 },
  { failuresInRow: 1, pause: 100 },
  { failuresInRow: 2, pause: 200 },
  { failuresInRow: 4, pause: 800 },
  { failuresInRow: 5, pause: 1_000 },
  { failuresInRow: 5_000, pause: 1_000 },
])('after $failuresInRow failures in a row the pause is $pause ms', ({ failuresInRow, pause }) => {
  expect(backOffMillis(failuresInRow, 100, 1_000)).toBe(pause);
});

test.each([
  { failuresInRow: 3, first: 100, factor: 3, pause: 900 },
  { failuresInRow: 3, first: 100, factor: 1, pause: 100 },
  { failuresInRow: 5_000, first: 0, factor: 2, pause: 0 },
])(
  'with factor $factor and $first ms at first it is $pause ms after $failuresInRow',
  ({ failuresInRow, first, factor, pause }) => {
    expect(backOffMillis(failuresInRow, first, 1_000, factor)).toBe(pause);
  },
);
