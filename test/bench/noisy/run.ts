import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { since, type Used } from './accounting.js';
import { kinds } from './calls.mjs';
import type { Runs } from './quiet-tenant.js';
import { costsTable, latencyTable, noiseTable, summaryOf } from './report.js';
import { Stage, type Noise } from './stage.js';

const warmUpRuns = 20;

/** One phase: the quiet tenant's runs, and what the noisy one did meanwhile. */
export interface Phase {
  runs: Runs;
  noise?: Noise;
  seconds: number;
  used: Used;
}

/** Answers the exit code. Asserts nothing about time. */
export async function measureNoise(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: 'string', default: '5' },
      runs: { type: 'string', default: '200' },
      'cost-seconds': { type: 'string', default: '10' },
      'control-seconds': { type: 'string', default: '30' },
      only: { type: 'string' },
      product: { type: 'string' },
      workers: { type: 'string' },
      nice: { type: 'string', default: '10' },
    },
  });
  const all = [...Object.keys(kinds), 'slowReads'];
  const only = values.only?.split(',') ?? all;
  const unknown = only.filter((kind) => !all.includes(kind));
  if (unknown.length > 0) throw new Error(`No kind of call: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  const stage = await Stage.build(values.product, values.workers, values.nice);
  const interrupted = () => void stage.close().finally(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const load = loadavg().map((each) => each.toFixed(1));
    await stage.quiet.run((n) => n < warmUpRuns);
    const alone = await phase(stage, (n) => n < Number(values.runs));
    const termsBefore = await stage.terms();
    const noisy = await noisyPhase(stage, Number(values.minutes) * 60, (seconds) => stage.makeNoise(only, seconds));
    const terms = (await stage.terms()) - termsBefore;
    await quietAgain(stage);
    const control = await noisyPhase(stage, Number(values['control-seconds']), (seconds) =>
      stage.makeIdleNoise(noisy.noise!, seconds),
    );
    const costs = new Map<string, Phase>();
    if (Number(values['cost-seconds']) > 0)
      for (const kind of only) {
        await quietAgain(stage);
        costs.set(kind, await noisyPhase(stage, Number(values['cost-seconds']), (s) => stage.makeNoise([kind], s)));
      }
    const machine = {
      cpus: cpus().length,
      model: cpus()[0]?.model,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    };
    console.log(`${machine.cpus} x ${machine.model}, ${machine.memoryGb} GB, Node ${machine.node}; load at the start ${load.join(', ')}
Product: ${values.product ?? 'this tree'}. The load is made on the same cores (nice ${values.nice}); the control is what that alone costs.
`);
    const phases = { alone, 'beside the noisy tenant': noisy, 'control: the same to an idle server': control };
    console.table(latencyTable(phases));
    console.table(noiseTable(noisy));
    if (costs.size > 0) console.table(costsTable(costs, alone));
    const perRun = alone.used.scheduler / alone.runs.started.length;
    const quietSeconds = Math.min(noisy.used.scheduler, perRun * noisy.runs.started.length);
    console.log(
      `Terms that the leader lost: ${terms}. CPU seconds of the scheduler in ${noisy.seconds.toFixed(0)} s: ${noisy.used.scheduler.toFixed(1)}, of which the ` +
        `quiet tenant ${quietSeconds.toFixed(1)} (its runs at the price they had alone), the noisy one the rest; of PostgreSQL ${noisy.used.postgres.toFixed(1)}; ` +
        `of the load itself ${noisy.noise!.cpuSeconds.toFixed(1)}.`,
    );
    for (const reason of new Set(noisy.runs.failed)) console.log(`A run of the quiet tenant failed: ${reason}`);
    const told = Object.fromEntries(Object.entries(phases).map(([name, each]) => [name, summaryOf(each.runs)]));
    console.log(JSON.stringify({ bench: 'noisy', unit: 'ms', only, ...told, terms, used: noisy.used, machine }));
    return 0;
  } catch (cause) {
    console.error(stage.printed.slice(-5_000));
    throw cause;
  } finally {
    await stage.close();
  }
}

async function phase(stage: Stage, goesOn: (n: number) => boolean): Promise<Phase> {
  const [before, begun] = [stage.used(), performance.now()];
  const runs = await stage.quiet.run(goesOn);
  return { runs, seconds: (performance.now() - begun) / 1_000, used: since(before, stage.used()) };
}

async function noisyPhase(stage: Stage, seconds: number, make: (seconds: number) => Promise<Noise>): Promise<Phase> {
  let isOver = false;
  const making = make(seconds).finally(() => (isOver = true));
  const until = performance.now() + seconds * 1_000;
  const measured = await phase(stage, (n) => n === 0 || (!isOver && performance.now() < until));
  return { ...measured, noise: await making };
}

/** Waits until the orders of the noisy tenant are carried out, as far as the quiet one notices. */
async function quietAgain(stage: Stage): Promise<void> {
  for (let calm = 0; calm < 3;) {
    const { started } = await stage.quiet.run((n) => n < 1);
    calm = (started[0] ?? Infinity) < 500 ? calm + 1 : 0;
  }
}
