import type { Load } from './load.js';
import type { Records } from './records.js';
import { uptime } from './records.js';
import type { Window } from './verdict.js';

/** Seconds after a fault that still count as its. */
export const afterSeconds = 8;

/** Cost of one fault. Uptimes and seconds. */
export interface Cost extends Pick<Window, 'fault' | 'from' | 'until'> {
  asked: number;
  acknowledged: number;
  /** Longest time without an acknowledged call, and without a task that started, from the strike on. */
  noAcceptance: number;
  noStart: number;
  /** From the end of the fault; undefined: nothing has started. */
  firstStart: number | undefined;
}

export function costOf(window: Window, load: Load, records: Records): Cost {
  const { fault, from } = window;
  const until = Math.min(Math.max(window.until + afterSeconds, window.recovered), uptime());
  const inside = (at: number): boolean => at >= window.from && at <= until;
  const asked = load.runs.filter(({ askedAt }) => inside(askedAt));
  const accepted = load.runs.filter(({ answer }) => answer === 'ACCEPTED').map(({ answeredAt }) => answeredAt!);
  const starts = records.marks.filter(({ what }) => what === 'start').map(({ at }) => at);
  const first = starts.filter((at) => at > window.until);
  return {
    fault,
    from,
    until: window.until,
    asked: asked.length,
    acknowledged: asked.filter(({ answer }) => answer === 'ACCEPTED').length,
    noAcceptance: longestGap(accepted.filter(inside), window.from, until),
    noStart: longestGap(starts.filter(inside), window.from, until),
    firstStart: first.length === 0 ? undefined : Math.min(...first) - window.until,
  };
}

function longestGap(times: readonly number[], from: number, until: number): number {
  const inOrder = [from, ...times.toSorted((a, b) => a - b), until];
  return Math.max(...inOrder.slice(1).map((at, n) => at - inOrder[n]!));
}

/** One row a fault, its figures one after the other in the order in which it struck. */
export function costTable(costs: readonly Cost[]): Record<string, Record<string, string | number>> {
  const names = [...new Set(costs.map(({ fault }) => fault))];
  const list = (each: readonly Cost[], figure: (cost: Cost) => number | undefined): string =>
    each.map((cost) => figure(cost)?.toFixed(1) ?? 'none').join(' ');
  return Object.fromEntries(
    names.map((name) => {
      const each = costs.filter(({ fault }) => fault === name);
      const sum = (figure: (cost: Cost) => number): number => each.reduce((total, cost) => total + figure(cost), 0);
      return [
        name,
        {
          struck: each.length,
          'acknowledged/asked': `${sum((cost) => cost.acknowledged)}/${sum((cost) => cost.asked)}`,
          's without acceptance': list(each, (cost) => cost.noAcceptance),
          's without start': list(each, (cost) => cost.noStart),
          'first start after s': list(each, (cost) => cost.firstStart),
        },
      ];
    }),
  );
}
