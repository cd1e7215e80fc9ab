import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { waitFor } from '../../support/wait-for.js';
import { type CallCounts, failedCalls, LoadTool, type LoadResult } from './load-tool.js';
import { type OldFirstResult, playOldFirst } from './old-first.js';
import { phases } from './phases.js';
import { isStageInstalled, Stage, type Front } from './stage.js';

/** What became of one service. */
export interface Recording {
  proxy: string;
  phases: { proxy: string; phase: string; seconds: number; answered: number; failed: number; outcome: string }[];
  load: LoadResult;
}

type Say = (line: string) => void;

/**
 * Plays all phases with each service at the same time, under load, and then changes by which old tasks end first. `say` hears of each as it
 * ends.
 */
export async function playRollout(
  callsPerSecond: number,
  say: Say,
): Promise<{ services: Recording[]; oldFirst: OldFirstResult[] }> {
  const stage = await Stage.build();
  try {
    const services = await Promise.all(stage.fronts.map((front) => playFront(stage, front, callsPerSecond, say)));
    const oldFirst = await Promise.all(stage.fronts.map((front) => playOldFirst(stage, front, callsPerSecond, say)));
    return { services, oldFirst: oldFirst.flat() };
  } finally {
    await stage.close();
  }
}

async function playFront(stage: Stage, front: Front, callsPerSecond: number, say: Say): Promise<Recording> {
  const { proxy, service, url } = front;
  const tell = (text: string) => say(`${new Date().toISOString()}  ${proxy}: ${text}`);
  await stage.saveRequest(front);
  await stage.deploy(front, 'v1');
  await stage.api.deployEnded(service, 'v1');
  await stage.settled(front, 3, 'v1');
  await waitFor('an answer through the proxy', async () => (await fetch(url)).ok);
  tell(`calls begin: ${callsPerSecond} per second to ${url}`);
  const tool = LoadTool.start(url, callsPerSecond);
  try {
    const played: Recording['phases'] = [];
    let before: CallCounts = { answered: 0, failed: 0 };
    for (const { name, run } of phases) {
      const began = performance.now();
      const outcome = await run(stage, front);
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      const now = await tool.counts();
      const [answered, failed] = [now.answered - before.answered, now.failed - before.failed];
      before = now;
      played.push({ proxy, phase: name, seconds, answered, failed, outcome });
      tell(`${name}: ${outcome} after ${seconds} s; ${answered} calls answered, ${failed} failed`);
    }
    const load = await tool.stop();
    tell(`calls end: ${load.answered} answered, ${failedCalls(load)} failed`);
    for (const failure of load.failures.slice(0, 20)) say(`  failed: ${failure}`);
    return { proxy, phases: played, load };
  } finally {
    tool.kill();
  }
}

/** Answers the exit code: 0 when no call failed, or only within the promise of OLD_FIRST. */
export async function recordRollout(argv: string[]): Promise<number> {
  const { values } = parseArgs({ args: argv, options: { rate: { type: 'string', default: '200' } } });
  if (!isStageInstalled()) {
    console.error('nginx or HAProxy is not installed: apt-get install nginx-light haproxy');
    return 1;
  }
  const { services: played, oldFirst } = await playRollout(Number(values.rate), (line) => console.log(line));
  console.table(played.flatMap((recording) => recording.phases));
  console.table(oldFirst.map(({ failures: _told, ...shown }) => shown));
  const failed = played.reduce((sum, { load }) => sum + failedCalls(load), 0);
  const machine = {
    cpus: cpus().length,
    model: cpus()[0]?.model,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  console.log(JSON.stringify({ bench: 'rollout', failed, services: played, oldFirst, machine }));
  return failed === 0 && oldFirst.every(({ keepsPromise }) => keepsPromise) ? 0 : 1;
}
