import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { waitFor } from '../../support/wait-for.js';
import { Nginx } from '../../support/load-balancer/nginx.js';
import { failedCalls, LoadTool, type LoadResult } from './load-tool.js';
import { type OldFirstResult, playOldFirst } from './old-first.js';
import { phases } from './phases.js';
import { service, Stage } from './stage.js';

export interface Recording {
  phases: { phase: string; seconds: number; outcome: string }[];
  load: LoadResult;
  oldFirst: OldFirstResult[];
}

/** Plays all phases under load. `say` hears of each as it ends. */
export async function playRollout(callsPerSecond: number, say: (line: string) => void): Promise<Recording> {
  const stage = await Stage.build();
  let tool: LoadTool | undefined;
  try {
    await stage.saveRequest();
    await stage.deploy('v1');
    await stage.api.deployEnded(service, 'v1');
    await stage.settled(3, 'v1');
    await waitFor('an answer through the proxy', async () => (await fetch(stage.url)).ok);
    say(`${new Date().toISOString()}  calls begin: ${callsPerSecond} per second to ${stage.url}`);
    tool = LoadTool.start(stage.url, callsPerSecond);
    const played: Recording['phases'] = [];
    for (const { name, run } of phases) {
      const began = performance.now();
      const outcome = await run(stage);
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      played.push({ phase: name, seconds, outcome });
      say(`${new Date().toISOString()}  ${name}: ${outcome} after ${seconds} s`);
    }
    const load = await tool.stop();
    say(`${new Date().toISOString()}  calls end: ${load.answered} answered, ${failedCalls(load)} failed`);
    for (const failure of load.failures.slice(0, 20)) say(`  failed: ${failure}`);
    const oldFirst = await playOldFirst(stage, callsPerSecond, say);
    return { phases: played, load, oldFirst };
  } finally {
    tool?.kill();
    await stage.close();
  }
}

/** Answers the exit code: 0 when no call failed, or only within the promise of OLD_FIRST. */
export async function recordRollout(argv: string[]): Promise<number> {
  const { values } = parseArgs({ args: argv, options: { rate: { type: 'string', default: '200' } } });
  if (!Nginx.isInstalled()) {
    console.error('nginx is not installed: apt-get install nginx-light');
    return 1;
  }
  const { phases: played, load, oldFirst } = await playRollout(Number(values.rate), (line) => console.log(line));
  console.table(played);
  console.table(oldFirst);
  const failed = failedCalls(load);
  const machine = {
    cpus: cpus().length,
    model: cpus()[0]?.model,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  console.log(JSON.stringify({ bench: 'rollout', failed, calls: load, phases: played, oldFirst, machine }));
  return failed === 0 && oldFirst.every(({ keepsPromise }) => keepsPromise) ? 0 : 1;
}
