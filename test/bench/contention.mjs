// Many callers on one request: how many calls a second are accepted, and how soon what was acknowledged is on a machine, of this
// request and of another one that is called now and then. The whole application as it leads, with simulated machines; who
// calls are other processes on the same machine. References of the same run: as many callers with a request of their own
// each, and the other request alone.
//
//   npm run bench:contention
//   npm run bench:contention -- --callers 16 --seconds 10
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { machine, options, product, SimulatedCluster, startServer } from './support/bench-world.mjs';

const { startApp } = await product('app.js');
const { SettingsFile } = await product('platform/settings/settings.js');

const given = options(process.argv.slice(2));
const callers = Number(given.callers ?? 16);
const seconds = Number(given.seconds ?? 10);
const machines = 50;
const tickMillis = 10;
/** Time for which a run is on its machine. */
const runMillis = 500;
const probeEveryMillis = 50;

const nowMs = () => performance.timeOrigin + performance.now();
const run = (requestId, query = '') => ({
  path: `/api/requests/request/${requestId}/run${query}`,
  method: 'POST',
  body: JSON.stringify({ runId: 'run-$r', envOverrides: { MARK: `${requestId} $r` } }),
});
const loads = [
  { name: 'none' },
  { name: 'run-now, a request each', ...run('own-$m') },
  { name: 'run-now, one request', ...run('hot') },
  { name: 'run-now, one request, ?minimal=true', ...run('hot', '?minimal=true') },
  {
    name: 'priority of one request',
    path: '/api/requests/request/hot/priority',
    method: 'PUT',
    body: JSON.stringify({ priority: 0.5 }),
  },
].filter(({ name }) => given.only === undefined || name.includes(given.only));

/** Time at which each run that a caller marked came to its machine. */
const launchedAt = new Map();

async function startProduct(databaseUrl) {
  const cluster = new SimulatedCluster({ machines: 0, machinesPerAgent: 10, startAt: Date.now() });
  for (let number = 1; number <= machines; number++) cluster.addMachine({ slaveId: `slave-${number}`, cpus: 64 });
  cluster.onLaunch(({ environment }) => {
    launchedAt.set(environment.MARK, nowMs());
    return { runFor: runMillis };
  });
  const settings = { ...SettingsFile.parse({}), port: 0, host: '127.0.0.1', databaseUrl, dataDir: tmpdir() };
  const { app, url } = await startApp({ settings, driver: cluster.driver(), logger: false });
  let advancing;
  const time = setInterval(() => {
    advancing ??= cluster.advance(Math.max(Date.now() - cluster.now(), 0)).finally(() => (advancing = undefined));
  }, tickMillis);
  const stop = async () => {
    clearInterval(time);
    await app.close();
  };
  return { url, stop };
}

async function makeJobs(url, ids) {
  const post = async (path, body) => {
    const answer = await fetch(`${url}/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  for (const id of ids) {
    await post('requests', { id, requestType: 'ON_DEMAND' });
    await post('deploys', {
      deploy: { requestId: id, id: 'd1', command: 'true', resources: { cpus: 0.1, memoryMb: 8 } },
    });
  }
}

const child = () => fork(fileURLToPath(new URL('./contention/callers.mjs', import.meta.url)));
async function ask(process, what) {
  process.send(what);
  return (await once(process, 'message'))[0];
}

const percentile = (values, p) => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted.length === 0
    ? null
    : Math.round(sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)]);
};

/** Milliseconds from the answer to the machine, of all acknowledged runs; waits for the last of them. */
async function untilPlaced(calls, markOf) {
  const accepted = calls.filter(({ status }) => status === 200);
  for (const deadline = Date.now() + 60_000; ; await pause(50)) {
    const missing = accepted.filter((call) => !launchedAt.has(markOf(call))).length;
    if (missing === 0) break;
    if (Date.now() > deadline) throw new Error(`${missing} of ${accepted.length} acknowledged runs were not placed`);
  }
  return accepted.map((call) => launchedAt.get(markOf(call)) - call.acknowledgedAt);
}

async function measure(url, { name, ...load }) {
  const probing = ask(prober, { origin: url, callers: 1, seconds, everyMillis: probeEveryMillis, ...run('other') });
  // What the load makes wait is seen from the first call on.
  const hotProbing = name.startsWith('priority')
    ? ask(hotProber, { origin: url, callers: 1, seconds, everyMillis: probeEveryMillis, ...run('hot') })
    : undefined;
  const calls = load.path ? await ask(caller, { origin: url, callers, seconds, ...load }) : [];
  const refused = calls.filter(({ status }) => status >= 400);
  if (refused.length > 0)
    console.error(`${name}: ${refused.length} of ${calls.length} refused, such as ${refused[0].text}`);
  const accepted = calls.length - refused.length;
  const answers = calls.map(({ sentAt, acknowledgedAt }) => acknowledgedAt - sentAt);
  const marks = { 'run-now, a request each': ({ index, mark }) => `own-${index} ${mark}` };
  const own = hotProbing ? await hotProbing : calls;
  const placed = await untilPlaced(own, marks[name] ?? (({ mark }) => `hot ${mark}`));
  const probes = await probing;
  const others = await untilPlaced(probes, ({ mark }) => `other ${mark}`);
  return {
    load: name,
    'accepted per second': Math.round(accepted / seconds),
    'answer p50, ms': percentile(answers, 50),
    'answer p99, ms': percentile(answers, 99),
    'acknowledged to placed p50, ms': percentile(placed, 50),
    'p99, ms': percentile(placed, 99),
    'other request: answer p50, ms': percentile(
      probes.map(({ sentAt, acknowledgedAt }) => acknowledgedAt - sentAt),
      50,
    ),
    'placed p50, ms': percentile(others, 50),
    'placed p99, ms': percentile(others, 99),
  };
}

const [caller, prober, hotProber] = [child(), child(), child()];
const server = await startServer();
const results = [];
try {
  const { url, stop } = await startProduct(server.url);
  try {
    await makeJobs(url, ['hot', 'other', ...Array.from({ length: callers }, (_, index) => `own-${index}`)]);
    // So that the code is warm.
    await ask(caller, { origin: url, callers, seconds: 3, ...run('own-$m') });
    for (const load of loads) {
      results.push(await measure(url, load));
      console.log(JSON.stringify(results.at(-1)));
      await pause(3_000);
    }
  } finally {
    await stop();
  }
} finally {
  await server.stop();
  for (const each of [caller, prober, hotProber]) each.disconnect();
}
console.log(`${callers} callers, ${seconds} s each, ${machines} simulated machines`);
console.table(results);
console.log(JSON.stringify({ bench: 'contention', callers, seconds, machines, results, machine }));
process.exit(0);
