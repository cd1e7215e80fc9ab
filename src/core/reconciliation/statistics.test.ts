import { expect, test } from 'vitest';
import { reconciliationStatistics } from './reconciliation.js';

test('figures over the delays of all answers, in whatever order they came', () => {
  const delays = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(reconciliationStatistics({ startedAt: 1_000, endedAt: 1_250, iterations: 2, delays })).toMatchObject({
    taskReconciliationStartedAt: 1_000,
    taskReconciliationDurationMillis: 250,
    taskReconciliationIterations: 2,
    taskReconciliationResponseCount: 100,
    taskReconciliationResponseMin: 1,
    taskReconciliationResponseMax: 100,
    taskReconciliationResponseMean: 50.5,
    taskReconciliationResponseP50: 50,
    taskReconciliationResponseP75: 75,
    taskReconciliationResponseP95: 95,
    taskReconciliationResponseP999: 100,
    taskReconciliationResponseStddev: expect.closeTo(28.866),
  });
});

test('nothing to compare is all zeros', () => {
  const { taskReconciliationStartedAt: _, ...figures } = reconciliationStatistics({
    startedAt: 5,
    endedAt: 5,
    iterations: 0,
    delays: [],
  });
  expect(new Set(Object.values(figures))).toEqual(new Set([0]));
});
