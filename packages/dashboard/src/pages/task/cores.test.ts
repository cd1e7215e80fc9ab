import { expect, test } from 'vitest';
import { coresBetween } from './cores';

test('cores take two looks at different times', () => {
  const at = (timestamp: number, user: number, system: number) => ({
    timestamp,
    cpusUserTimeSecs: user,
    cpusSystemTimeSecs: system,
  });
  expect(coresBetween(at(10, 4, 1), at(12, 6, 2))).toBe(1.5);
  expect(coresBetween(undefined, at(12, 6, 2))).toBeUndefined();
  expect(coresBetween(at(12, 4, 1), at(12, 6, 2))).toBeUndefined();
});
