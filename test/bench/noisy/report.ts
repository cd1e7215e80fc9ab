import type { Phase } from './run.js';
import type { Runs } from './quiet-tenant.js';

const round = (value: number, digits = 1): number => Math.round(value * 10 ** digits) / 10 ** digits;

function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)] ?? NaN);
}

export const summaryOf = ({ started, answered, failed }: Runs) => ({
  runs: started.length,
  failed: failed.length,
  p50: percentile(started, 50),
  p95: percentile(started, 95),
  p99: percentile(started, 99),
  answerP50: percentile(answered, 50),
  answerP99: percentile(answered, 99),
});

/** Run-now to process, and how many times that of the first phase. */
export function latencyTable(phases: Record<string, Phase>): Record<string, object> {
  const [first] = Object.values(phases).map(({ runs }) => summaryOf(runs));
  return Object.fromEntries(
    Object.entries(phases).map(([name, { runs }]) => {
      const { answerP50, answerP99, ...own } = summaryOf(runs);
      const times = (p: 'p50' | 'p95' | 'p99') => round(own[p] / first![p], 2);
      return [
        name,
        {
          ...own,
          'times p50': times('p50'),
          'times p95': times('p95'),
          'times p99': times('p99'),
          'answer p50': answerP50,
          'answer p99': answerP99,
        },
      ];
    }),
  );
}

const isRefusal = (status: string): boolean => ['400', '429', '503'].includes(status);
/** A `409` is an answer: the deploy before is not done. */
const others = (statuses: Record<string, number>): string =>
  Object.entries(statuses)
    .filter(([status]) => !isRefusal(status) && status !== '200')
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');

/** By kind of call: how many were answered, and refused. */
export function noiseTable({ noise, seconds }: Phase): Record<string, object> {
  return Object.fromEntries(
    Object.entries(noise!.kinds).map(([kind, { calls, statuses, bytes, millis }]) => [
      kind,
      {
        calls,
        'per second': round(calls / seconds),
        'mean, ms': round(millis / Math.max(1, calls)),
        MB: round(bytes / 1e6),
        '200': statuses['200'] ?? 0,
        '400': statuses['400'] ?? 0,
        '429': statuses['429'] ?? 0,
        '503': statuses['503'] ?? 0,
        others: others(statuses),
      },
    ]),
  );
}

/** By kind of call, while nothing else was called but the quiet tenant's runs: processor time, and what these runs then took. */
export function costsTable(costs: ReadonlyMap<string, Phase>, alone: Phase): Record<string, object> {
  const base = summaryOf(alone.runs);
  return Object.fromEntries(
    [...costs].map(([kind, { runs, noise, seconds, used }]) => {
      const { calls } = noise!.kinds[kind]!;
      const own = summaryOf(runs);
      return [
        kind,
        {
          'calls per second': round(calls / seconds),
          'scheduler, CPU s per s': round(used.scheduler / seconds, 2),
          'CPU ms of a call': round((used.scheduler * 1_000) / Math.max(1, calls), 2),
          'PostgreSQL, CPU s per s': round(used.postgres / seconds, 2),
          'quiet p50': own.p50,
          'times p50': round(own.p50 / base.p50, 2),
          'quiet p95': own.p95,
          'quiet failed': own.failed,
        },
      ];
    }),
  );
}
