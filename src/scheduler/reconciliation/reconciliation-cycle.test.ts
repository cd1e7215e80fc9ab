import { expect, test } from 'vitest';
import { ReconciliationCycle } from './reconciliation-cycle.js';

test('a task that is answered in every round counts once, with its first answer', () => {
  const cycle = new ReconciliationCycle(1_000);
  cycle.roundBegins();
  cycle.answered(['a', 'b'], 1_010);
  cycle.roundBegins();
  cycle.answered(['a', 'b', 'c'], 1_500);
  expect(cycle.ended(1_600)).toEqual({ startedAt: 1_000, endedAt: 1_600, iterations: 2, delays: [10, 10, 500] });
});
