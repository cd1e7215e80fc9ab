// The original scheduler (version 1.5.0, from Maven) and Muster by turns on this machine: the same data, made by the same calls, the same
// load generator (wrk, else autocannon) on 16 connections. 1,000 requests with 5 tasks each on 500 machines that are played, 2 more of
// each request have ended. Of both: how often each call is answered, launches and status updates, run-now, memory; and the ratio, above
// 1 where Muster is ahead. Before each call is measured it is repeated until its rate grows no more. Needs a JDK (17) and Maven; Linux.
//
//   npm run bench:peers                                          about 20 minutes
//   npm run bench:peers -- --seconds 2 --only state,create       these figures alone
//   npm run bench:peers -- --rounds 3                            by turns so many times; the medians are told
//   npm run bench:peers -- --skip-original                       Muster alone
//   npm run bench:peers -- --requests 100 --workers 2            less data; API workers (default: that of the product)
import { execFileSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { machine } from './support/bench-world.mjs';

const { readOptions, medians, tableOf, behindOf } = await import('./peers/report.ts');
const { openLoadGenerator } = await import('./peers/load.ts');
const { mostConnections, fill, instances, measureSide } = await import('./peers/measurements.ts');
const { startMuster } = await import('./peers/muster.ts');
const { missingForOriginal, startOriginal } = await import('./peers/original.ts');
const { Side } = await import('./peers/side.ts');

const machines = 500;
const open = new Set();
let ending;

/** Closes what is open, once. */
function end(code) {
  ending ??= (async () => {
    for (const each of [...open].reverse()) await each.close().catch((cause) => console.error(String(cause)));
    process.exit(code);
  })();
  return ending;
}

async function measure(name, start, options, generator) {
  const side = new Side(name);
  open.add(side);
  console.log(`${name}: starting`);
  await start(side, { machines, workers: options.workers });
  const startedAt = performance.now();
  await fill(side, { ...options, machines });
  console.log(`${name}: filled in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  const isMuster = name === 'Muster';
  const measured = await measureSide(side, generator, { ...options, isMuster }, console.log);
  await side.close();
  open.delete(side);
  return measured;
}

const javaVersion = () => execFileSync('java', ['--version'], { encoding: 'utf8' }).split('\n')[0];

async function run() {
  const options = readOptions(process.argv.slice(2));
  const missing = options.skipOriginal ? undefined : missingForOriginal();
  if (missing) throw new Error(missing);
  const generator = openLoadGenerator();
  open.add(generator);
  const load = loadavg().map((each) => each.toFixed(1));
  const rounds = { original: [], muster: [] };
  for (let round = 1; round <= options.rounds; round++) {
    if (!options.skipOriginal) rounds.original.push(await measure('original', startOriginal, options, generator));
    rounds.muster.push(await measure('Muster', startMuster, options, generator));
  }
  const [original, muster] = [medians(rounds.original), medians(rounds.muster)];
  const warmUp = (side) => {
    const seconds = [...side.values()].flatMap(({ warmUpSeconds }) => warmUpSeconds ?? []);
    return seconds.length === 0 ? 'no calls' : `${Math.min(...seconds)} to ${Math.max(...seconds)} s for each call`;
  };
  const { seconds, requests } = options;
  const versions = [
    `Node ${process.version}`,
    ...(options.skipOriginal ? [] : ['original 1.5.0 with ZooKeeper 3.5.10', javaVersion()]),
    generator.name,
  ];
  console.log(`
${machine.cpus} x ${machine.model}, ${machine.memoryGb} GB; load at the start ${load.join(', ')}
${versions.join('; ')}
${requests} requests with ${instances} tasks on ${machines} machines; ${mostConnections} connections, ${seconds} s each, ${options.rounds} round(s)
Warmed up: original ${warmUp(original)}, Muster ${warmUp(muster)}
The original's ZooKeeper waits for no disk; Muster's database does. In columns of both: original / Muster.

${tableOf(original, muster)}

${options.skipOriginal ? '' : behindOf(original, muster)}`);
  const told = { original: Object.fromEntries(original), muster: Object.fromEntries(muster) };
  console.log(JSON.stringify({ bench: 'peers', requests, machines, seconds, load, ...told, machine }));
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void end(130));
try {
  await run();
  await end(0);
} catch (cause) {
  // What fails because everything is being ended is not told.
  if (!ending) console.error(process.env.BENCH_LOG ? cause : cause.message);
  await end(1);
}
