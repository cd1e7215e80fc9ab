import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { workersOf } from '../../e2e/support/processes.js';

/** Processor seconds, user and system, until now. */
export interface Used {
  scheduler: number;
  postgres: number;
}

/** Clock ticks of Linux a second, as programs see them. */
const ticks = 100;

function statOf(pid: number): { parent: number; own: number; ofEnded: number } | undefined {
  try {
    // The name of the program, in parentheses, may contain spaces.
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { parent: fields[1]!, own: fields[11]! + fields[12]!, ofEnded: fields[13]! + fields[14]! };
  } catch {
    return undefined; // it has ended
  }
}

/** Use of a process, of those that it has started and that run, and of those of them that have ended. */
function withChildren(pid: number): number {
  let sum = 0;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = statOf(Number(entry));
    if (stat?.parent === pid) sum += stat.own;
    if (Number(entry) === pid && stat) sum += stat.own + stat.ofEnded;
  }
  return sum / ticks;
}

function postmasterOf(dataDir: string): number {
  for (const path of readdirSync(dataDir, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('/postmaster.pid')) return Number(readFileSync(join(dataDir, path), 'utf8').split('\n')[0]);
  throw new Error(`No server in ${dataDir}`);
}

/** Use of the scheduler with its API workers, and of its database. */
export function accountingOf(dataDir: string, scheduler: number): () => Used {
  const postmaster = postmasterOf(dataDir);
  const pids = [scheduler, ...workersOf(scheduler)];
  return () => ({
    scheduler: pids.reduce((sum, pid) => sum + (statOf(pid)?.own ?? 0), 0) / ticks,
    postgres: withChildren(postmaster),
  });
}

export const since = (before: Used, now: Used): Used => ({
  scheduler: now.scheduler - before.scheduler,
  postgres: now.postgres - before.postgres,
});
