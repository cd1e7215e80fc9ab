import { expect, test } from 'vitest';
import { connectionsFor, workerCount, poolOf } from './worker-count.js';

const large = { cores: 16, memoryBytes: 64 * 1024 ** 3, connections: 197 };

test.each([
  { name: 'none below four cores', room: { cores: 3 }, workers: 0 },
  { name: 'half of the cores', room: { cores: 4 }, workers: 2 },
  { name: 'half of the cores that a container may use', room: { cores: 6.5 }, workers: 3 },
  { name: 'four at most', room: { cores: 64 }, workers: 4 },
  { name: 'none where memory is short', room: { memoryBytes: 1024 ** 3 }, workers: 0 },
  { name: 'as many as leave connections for a second instance', room: { connections: 97 }, workers: 2 },
  { name: 'none where the database has few connections', room: { connections: 22 }, workers: 0 },
])('unless it is said how many: $name', ({ room, workers }) =>
  expect(workerCount(undefined, { ...large, ...room })).toBe(workers),
);

test('what is asked for holds, whatever the machine', () => {
  const small = { cores: 1, memoryBytes: 1024 ** 2, connections: 97 };
  expect(workerCount(0, { ...small, connections: 1 })).toBe(0);
  expect(workerCount(2, small)).toBe(2);
});

test('more than the database has connections for is refused by name', () => {
  expect(() => workerCount(64, large)).toThrow(
    'http.workers is 64: that takes up to 536 connections, and the database has 197 for its users',
  );
});

test('the more workers, the fewer connections each of them has, and never fewer than four', () => {
  expect([1, 2, 3, 4, 64].map(poolOf)).toEqual([10, 8, 5, 4, 4]);
  expect([0, 1, 2, 3, 4].map(connectionsFor)).toEqual([24, 38, 48, 51, 56]);
});
