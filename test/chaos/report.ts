import { cpus, loadavg } from 'node:os';
import type { ChaosResult } from './chaos.js';
import { costTable } from './meter.js';
import type { ChaosOptions } from './options.js';

const mostLines = 20;

/** For people: what each fault cost, what was counted, and what is wrong. */
export function tellResult(result: ChaosResult, say: (line: string) => void): void {
  console.table(costTable(result.costs));
  const { verdict, terms } = result;
  const lists: [string, readonly string[]][] = [
    ['lost', verdict.lost],
    ['doubled', verdict.doubled],
    ['instances with several processes', verdict.overlaps],
    ['ended without a reason', verdict.ended],
    ['services wrong at the end', verdict.wrongServices],
    ['told though it is not so', verdict.untrue],
    ['stalls', result.stalls],
    ['terms that no fault explains', result.flaps],
    ['faults that did not go as they should', result.failures],
    ['late', verdict.late],
    ['refused', result.refusals],
    ['schedulers that ended by themselves', result.unexpectedEnds],
    ['left out', result.skipped],
  ];
  for (const [name, each] of lists) {
    if (each.length === 0) continue;
    say(`${name}: ${each.length}`);
    for (const line of each.slice(0, mostLines)) say(`  ${line}`);
  }
  say(
    `acknowledged ${verdict.acknowledged} runs and ${result.operations} operations, lost ${verdict.lost.length}, ` +
      `doubled ${verdict.doubled.length}, late ${verdict.late.length}; ${result.starts} starts in ${result.seconds.toFixed(0)} s`,
  );
  const explained = terms.fewest === terms.most ? `${terms.most}` : `${terms.fewest} to ${terms.most}`;
  say(
    `terms ${terms.begun + 1}; faults that change the leader + 1: ${explained.replaceAll(/\d+/g, (n) => `${Number(n) + 1}`)}`,
  );
  say(result.good ? 'good' : 'NOT good');
}

/** One line with the result, for programs. */
export function resultLine(name: string, options: ChaosOptions, result: ChaosResult): string {
  const { verdict, ...rest } = result;
  const counts = Object.fromEntries(
    Object.entries(verdict).map(([key, value]) => [key, typeof value === 'number' ? value : value.length]),
  );
  const machine = { cpus: cpus().length, load: loadavg()[0], node: process.version };
  return JSON.stringify({ bench: name, ...counts, ...rest, options, machine });
}
