import type { TaskReconciliationStatistics } from '../model/state.js';

/** One comparison of our tasks with those of the machines. */
export interface ReconciliationRun {
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number;
  /** How many times the machines were asked until everything was answered. */
  iterations: number;
  /** Milliseconds from the start to the answer, one entry per task. */
  delays: readonly number[];
}

export function reconciliationStatistics(run: ReconciliationRun): TaskReconciliationStatistics {
  const sorted = run.delays.toSorted((a, b) => a - b);
  const count = sorted.length;
  const mean = count === 0 ? 0 : sorted.reduce((sum, delay) => sum + delay, 0) / count;
  const variance = count === 0 ? 0 : sorted.reduce((sum, delay) => sum + (delay - mean) ** 2, 0) / count;
  /** The smallest delay that the share of all is not above. */
  const percentile = (share: number): number => sorted[Math.max(0, Math.ceil(share * count) - 1)] ?? 0;
  return {
    taskReconciliationStartedAt: run.startedAt,
    taskReconciliationDurationMillis: run.endedAt - run.startedAt,
    taskReconciliationIterations: run.iterations,
    taskReconciliationResponseCount: count,
    taskReconciliationResponseMax: sorted.at(-1) ?? 0,
    taskReconciliationResponseMean: mean,
    taskReconciliationResponseMin: sorted[0] ?? 0,
    taskReconciliationResponseP50: percentile(0.5),
    taskReconciliationResponseP75: percentile(0.75),
    taskReconciliationResponseP95: percentile(0.95),
    taskReconciliationResponseP98: percentile(0.98),
    taskReconciliationResponseP99: percentile(0.99),
    taskReconciliationResponseP999: percentile(0.999),
    taskReconciliationResponseStddev: Math.sqrt(variance),
  };
}
