import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inParallel } from '../../../src/platform/async.js';
import { waitFor } from '../../support/wait-for.js';
import type { Load, LoadGenerator } from './load.js';
import { type Figure, figures, isSteady, type Measured, type Options } from './report.js';
import type { Side } from './side.js';

export const instances = 5;
export const mostConnections = 16;
/** Tasks of each request that have ended and stand in its history. */
const endedPerRequest = 2;
const callsAtOnce = 8;
/**
 * Deploys at a time. With more on a slow machine the original gives many up, whose time limit is over before it comes
 * to them.
 */
const deploysAtOnce = 100;
/** Number of attempts: deploys that were given up are made again. */
const mostDeploys = 4;
/** A rate that still grows then is measured all the same. */
const mostWindows = 20;
const settleMillis = 10_000;
const patient = { timeoutMillis: 900_000, everyMillis: 100 };
/** Services that are deployed and deleted at once; no request may have more instances by default. */
const surge = { requests: 80, instances: 25 };
const runs = 10;
const runsOfProcesses = 50;

const deployOf = (requestId: string, command: string, id = 'd1') => ({
  requestId,
  id,
  command,
  env: { LOG_LEVEL: 'info', REGION: 'eu-1', JAVA_OPTS: '-Xmx48m -XX:+UseSerialGC', CONFIG: '/etc/service' },
  labels: { team: 'bench', tier: 'backend' },
  uris: [{ uri: 'https://artifacts.example.com/service/service-1.42.0.tar.gz' }],
  resources: { cpus: 0.1, memoryMb: 64, numPorts: 1, diskMb: 0 },
});
const service = 'exec ./server --port "$PORT" --config /etc/service/config.yaml';

/** Requests with running and ended tasks, as callers make them. */
export async function fill(side: Side, { requests, machines }: { requests: number; machines: number }): Promise<void> {
  const slaves = async () => (await side.call<unknown[]>('GET', 'slaves')).length === machines;
  await waitFor('the machines', slaves, patient);
  const ids = Array.from({ length: requests }, (_, index) => `request-${index}`);
  for (let first = 0; first < requests; first += deploysAtOnce) {
    let left = ids.slice(first, first + deploysAtOnce);
    for (let deploy = 1; left.length > 0; deploy++) {
      if (deploy > mostDeploys) throw new Error(`${side.name}: ${left.length} deploys were given up again and again`);
      await deployServices(side, left, instances, `d${deploy}`);
      await noDeploys(side);
      left = await withoutDeploy(side, left);
    }
  }
  const { launches } = await side.played();
  await side.endTasks(endedPerRequest);
  await waitFor(
    'tasks in the place of those that ended',
    async () => (await side.played()).launches >= launches + requests * endedPerRequest,
    patient,
  );
  await allStored(side);
}

/** Answers when the first deploy was asked for, in epoch milliseconds. */
async function deployServices(side: Side, ids: readonly string[], count: number, deployId = 'd1'): Promise<number> {
  const request = (id: string) => ({ id, requestType: 'SERVICE', instances: count });
  const deploy = (id: string) => ({ deploy: deployOf(id, service, deployId) });
  await inParallel(ids, callsAtOnce, (id) => side.call('POST', 'requests', request(id)));
  const askedAt = Date.now();
  await inParallel(ids, callsAtOnce, (id) => side.call('POST', 'deploys', deploy(id)));
  return askedAt;
}

/** Ids among these of the requests whose deploy did not succeed. */
async function withoutDeploy(side: Side, ids: readonly string[]): Promise<string[]> {
  type Parent = { request: { id: string }; requestDeployState?: { activeDeploy?: object } };
  const parents = await side.call<Parent[]>('GET', 'requests');
  const deployed = parents.filter(({ requestDeployState }) => requestDeployState?.activeDeploy);
  const done = new Set(deployed.map(({ request }) => request.id));
  return ids.filter((id) => !done.has(id));
}

const noDeploys = (side: Side) =>
  waitFor('the deploys', async () => (await side.call<unknown[]>('GET', 'deploys/pending')).length === 0, patient);

async function allStored(side: Side): Promise<void> {
  const stored = async () => {
    const { reported, acknowledged } = await side.played();
    return acknowledged >= reported;
  };
  await waitFor('the updates', stored, patient);
}

/** Launches since the call of the first deploy, the reports that they run, and those that they have been killed: all of one kind at once. */
export async function measureSurge(
  side: Side,
  name: string,
): Promise<Record<'launches' | 'starts' | 'ends', Measured>> {
  const ids = Array.from({ length: surge.requests }, (_, index) => `surge-${name}-${index}`);
  const tasks = surge.requests * surge.instances;
  await allStored(side);
  await side.clear();
  await side.hold();
  const askedAt = await deployServices(side, ids, surge.instances);
  await waitFor('the launches', async () => (await side.played()).launches >= tasks, patient);
  const launches = tasks / ((Math.max(...(await side.launchTimes())) - askedAt) / 1_000);
  const starts = await rateOfUpdates(side, 2 * tasks);
  await noDeploys(side);
  await side.clear();
  await side.hold();
  await inParallel(ids, callsAtOnce, (id) => side.call('DELETE', `requests/request/${id}`));
  await waitFor('the kills', async () => (await side.played()).kills >= tasks, patient);
  const ends = await rateOfUpdates(side, tasks);
  await waitFor('no more of the requests', async () => (await idsOf(side)).every((id) => !ids.includes(id)), patient);
  return { launches: { value: launches }, starts: { value: starts }, ends: { value: ends } };
}

const idsOf = (side: Side) => side.call<string[]>('GET', 'requests/ids');

/** Lets those that were held back go, and waits until the service has stored them. */
async function rateOfUpdates(side: Side, held: number): Promise<number> {
  const releasedAt = await side.release();
  await waitFor('the updates', async () => (await side.played()).acknowledged >= held, patient);
  const { acknowledged, acknowledgedAt } = await side.played();
  return acknowledged / ((acknowledgedAt - releasedAt) / 1_000);
}

/** From the call that runs a job to its launch, while nothing else goes on. */
export async function measureRunNow(side: Side): Promise<Measured> {
  await side.call('POST', 'requests', { id: 'job', requestType: 'ON_DEMAND' });
  await side.call('POST', 'deploys', { deploy: deployOf('job', 'true') });
  const took: number[] = [];
  for (let run = 0; run <= runs; run++) {
    await allStored(side);
    // Not in step with what the service does every second.
    await pause(300 + ((run * 370) % 1_000));
    await side.clear();
    const askedAt = Date.now();
    await side.call('POST', 'requests/request/job/run', {});
    const launched = async () => (await side.played()).launches > 0;
    await waitFor('the run', launched, { timeoutMillis: 60_000, everyMillis: 5 });
    const [launchedAt] = await side.launchTimes();
    // The first one warms up.
    if (run > 0) took.push(launchedAt! - askedAt);
  }
  await side.call('DELETE', 'requests/request/job');
  return { value: took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)]! };
}

/** With a real agent and real processes: what `npm run bench:latency` measures. It ends with the side, and so do its files. */
async function measureProcess(side: Side): Promise<Measured> {
  const program = fileURLToPath(new URL('../latency.mjs', import.meta.url));
  const env = { TMPDIR: side.folder('service') };
  const running = side.run('service', process.execPath, [program, String(runsOfProcesses)], env);
  await running.ended();
  const [line] = /^\{"bench":"latency".*$/m.exec(running.printed())!;
  const told = JSON.parse(line) as { runNowToStarted: { p50: number } };
  return { value: told.runNowToStarted.p50 };
}

/** As many calls as are answered, after a warm-up that ends when the rate is steady. */
export async function measureCall(
  side: Side,
  generator: LoadGenerator,
  { call, name }: Figure,
  { seconds, requests }: Pick<Options, 'seconds' | 'requests'>,
): Promise<Measured> {
  const { method = 'GET', path, body = '', connections = mostConnections } = call!;
  const { origin, pathname } = new URL(side.api);
  const load: Load = { origin, method, path: `${pathname}/${path}`, body, requests, connections, seconds };
  const window = Math.max(1, Math.round(seconds / 4));
  const rates: number[] = [];
  while (!isSteady(rates) && rates.length < mostWindows)
    rates.push((await generator.fire({ ...load, seconds: window })).perSecond);
  const before = side.cpuMillis();
  const { calls, perSecond, p50, p99, failed } = await generator.fire(load);
  const cpuMillis = (side.cpuMillis() - before) / calls;
  // A few that were cut off at the end of a run say nothing about the rate.
  if (failed > calls / 100) {
    const answer = method === 'GET' ? await fetch(`${side.api}/${path.replace('$m', '5')}`) : undefined;
    const text = answer && `: one more is answered ${answer.status} ${(await answer.text()).slice(0, 300)}`;
    throw new Error(`${side.name}: ${failed} of ${calls} calls failed: ${name}${text ?? ''}`);
  }
  const warmUpSeconds = rates.length * window;
  return { value: perSecond, p50, p99, cpuMillis, warmUpSeconds, bytes: await bytesOf(side, path, method) };
}

/** Bytes of an answer to a read. */
async function bytesOf(side: Side, path: string, method: string): Promise<number | undefined> {
  if (method !== 'GET') return undefined;
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const answer = await fetch(`${side.api}/${path.replace('$m', '5')}`, { headers });
  return (await answer.arrayBuffer()).byteLength;
}

/** Everything that is asked for, on a side that has just begun. */
export async function measureSide(
  side: Side,
  generator: LoadGenerator,
  { only, isMuster, ...options }: Options & { isMuster: boolean },
  say: (line: string) => void,
): Promise<Map<string, Measured>> {
  const measured = new Map<string, Measured>();
  const note = (key: string, value: Measured) => {
    if (!only.has(key)) return;
    measured.set(key, value);
    say(`${side.name}: ${figures.find((figure) => figure.key === key)!.name}: ${JSON.stringify(value)}`);
  };
  const wants = (...keys: string[]) => keys.some((key) => only.has(key));
  if (wants('memory', 'memory-all')) {
    await pause(settleMillis);
    note('memory', { value: side.memoryMiB('service') });
    note('memory-all', { value: side.memoryMiB('service', 'store') });
  }
  if (wants('run-now', 'process')) {
    const launched = await measureRunNow(side);
    note('run-now', launched);
    if (only.has('process')) note('process', isMuster ? await measureProcess(side) : launched);
  }
  if (wants('launches', 'starts', 'ends')) {
    await measureSurge(side, 'warm-up');
    for (const [key, value] of Object.entries(await measureSurge(side, 'measured'))) note(key, value);
  }
  for (const figure of figures) {
    if (!figure.call || !wants(figure.key, ...(figure.key === 'create' ? ['create-p99'] : []))) continue;
    const value = await measureCall(side, generator, figure, options);
    note(figure.key, value);
    if (figure.key === 'create') note('create-p99', { value: value.p99! });
  }
  if (only.has('memory-after')) {
    await pause(settleMillis);
    note('memory-after', { value: side.memoryMiB('service') });
  }
  return measured;
}
