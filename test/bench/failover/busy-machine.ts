import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Load } from './load.js';
import type { Stage } from './stage.js';

const processesPerCore = 8;
const spin = 'for (;;) Math.sqrt(2);';

export interface BusyOutcome {
  minutes: number;
  processes: number;
  /** Load of the machine, in its last minute. */
  load: number;
  /** Terms of leadership meanwhile. One: the leader went on. */
  terms: number;
  runsAccepted: number;
  lost: number;
  doubled: number;
}

/** All cores are kept busy by other processes while runs are asked for: no leader may be replaced because of it. */
export async function keepBusy(stage: Stage, load: Load, minutes: number): Promise<BusyOutcome> {
  await stage.roles();
  const before = await stage.epoch();
  const from = Date.now();
  const busy: ChildProcess[] = [];
  for (let left = processesPerCore * availableParallelism(); left > 0; left--)
    busy.push(spawn(process.execPath, ['-e', spin], { stdio: 'ignore' }));
  const end = () => busy.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', end);
  try {
    await delay(minutes * 60_000);
  } finally {
    end();
    process.off('exit', end);
  }
  const [until, [reached]] = [Date.now(), loadavg()];
  const terms = (await stage.epoch()) - before + 1;
  const asked = (runs: { askedAt: number }[]) => runs.filter(({ askedAt }) => askedAt < until).length;
  for (let tries = 60; tries > 0 && (!load.isAnswered(until) || asked(load.lost(from)) > 0); tries--)
    await delay(1_000);
  return {
    minutes,
    processes: busy.length,
    load: reached!,
    terms,
    runsAccepted: asked(load.accepted(from)),
    lost: asked(load.lost(from)),
    doubled: load.doubled().length,
  };
}

export const survived = ({ terms, lost, doubled }: BusyOutcome): boolean => terms === 1 && lost + doubled === 0;
