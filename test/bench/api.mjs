// Calls of the HTTP API per second, and how long each takes: the whole application as it leads, 1,000 requests and 5,000
// running tasks on 500 simulated machines. Who calls is a second process (autocannon) on 16 connections, on the same
// machine. The reference in the same run: a node http server that does nothing but answer as many bytes.
//
//   npm run bench:api
//   npm run bench:api -- --seconds 5 --warmup 2 --only /state
//   npm run bench:api -- --profile layers      CPU microseconds of a call by layer; `functions`: by function, too
//   npm run bench:api -- --workers 2 --only /tasks/active     (by API workers; "leader late": its event loop meanwhile)
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { layers } from './api/layers.mjs';
import { machine, options, product, SimulatedCluster, startServer } from './support/bench-world.mjs';
import { insertServices } from './support/insert-requests.mjs';
import { profiled } from './support/profile.mjs';

const { startApp } = await product('app.js');
const { WorkerPool } = await product('cli/server/workers/worker-pool.js');
const { Database } = await product('platform/database/database.js');
const { SettingsFile } = await product('platform/settings/settings.js');

const given = options(process.argv.slice(2));
const requests = Number(given.requests ?? 1_000);
const instances = 5;
const machines = 500;
const endedPerRequest = 10;
const load = {
  connections: Number(given.connections ?? 16),
  seconds: Number(given.seconds ?? 10),
  warmUpSeconds: Number(given.warmup ?? 3),
};
const tickMillis = 100;

/** A deploy as an ordinary service has it: a task of it is about 2.6 kB in a list. */
const deployOf = (requestId) => ({
  requestId,
  id: 'd1',
  command: 'exec ./server --port "$PORT" --config /etc/service/config.yaml',
  env: { LOG_LEVEL: 'info', REGION: 'eu-1', JAVA_OPTS: '-Xmx48m -XX:+UseSerialGC', CONFIG: '/etc/service' },
  labels: { team: 'bench', tier: 'backend' },
  uris: ['https://artifacts.example.com/service/service-1.42.0.tar.gz'],
  resources: { cpus: 0.1, memoryMb: 64, numPorts: 1, diskMb: 0 },
  timestamp: 1_700_000_000_000,
});

const calls = [
  { name: 'GET /requests/request/{id}', path: 'requests/request/request-$m' },
  { name: 'GET /requests/request/{id}/simple', path: 'requests/request/request-$m/simple' },
  { name: 'GET /state', path: 'state' },
  { name: 'GET /state?skipCache=true', path: 'state?skipCache=true' },
  { name: 'GET /tasks/active/ids', path: 'tasks/active/ids' },
  { name: 'GET /requests/ids', path: 'requests/ids' },
  { name: 'GET /history/request/{id}/tasks', path: 'history/request/request-$m/tasks' },
  { name: 'GET /requests', path: 'requests' },
  // More answers of this size are not made for one caller at a time.
  { name: 'GET /tasks/active', path: 'tasks/active', connections: 4 },
  // Last: it changes what the others read.
  {
    name: 'POST /requests',
    path: 'requests',
    method: 'POST',
    body: JSON.stringify({ id: 'made-$n', requestType: 'SERVICE', instances: 2, owners: ['bench@example.com'] }),
  },
].filter(({ name }) => given.only === undefined || given.only.split(',').some((end) => name.endsWith(end)));

async function until(what, condition) {
  for (const deadline = Date.now() + 300_000; !(await condition()); await pause(200)) {
    if (Date.now() > deadline) throw new Error(`Not in time: ${what}`);
  }
}

/** Ended tasks of each request, as the history keeps them. */
const insertEnded = (query) =>
  query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, host, rack_id, instance_no, started_at, running_at, updated_at,
       last_task_status, data)
     SELECT t.request_id || '-d1-' || (1700000000000 + n) || '-1-' || t.host || '-DEFAULT', t.request_id, 'd1', t.host, 'DEFAULT',
       1, to_timestamp(1700000000 + n), to_timestamp(1700000000 + n), to_timestamp(1700000060 + n), 'TASK_FINISHED', '{}'
     FROM (SELECT id AS request_id, 'slave_1' AS host FROM request) t CROSS JOIN generate_series(1, $1::int) n`,
    [endedPerRequest],
  );

async function startProduct(databaseUrl) {
  const cluster = new SimulatedCluster({ machines: 0, machinesPerAgent: 10, startAt: Date.now() });
  for (let number = 1; number <= machines; number++) cluster.addMachine({ slaveId: `slave-${number}` });
  const file = SettingsFile.parse({ log: { level: 'error' }, http: { workers: Number(given.workers ?? 0) } });
  const settings = { ...file, port: 0, host: '127.0.0.1', databaseUrl, dataDir: tmpdir(), clusterDriver: 'local' };
  const workers = WorkerPool.of(settings, tmpdir(), { connections: Infinity });
  const { app, url } = await startApp({ settings, driver: cluster.driver(), logger: false, role: workers?.role });
  const query = (sql, parameters) => app.get(Database).pool.query(sql, parameters);
  const time = setInterval(() => void cluster.advance(Math.max(Date.now() - cluster.now(), 0)), tickMillis);
  const stop = async () => {
    clearInterval(time);
    await workers?.stop();
    await app.close();
  };
  await insertServices(query, { tasks: requests * instances, instances, deployOf });
  await insertEnded(query);
  const running = async () => (await query('SELECT count(running_at)::integer AS n FROM task'))[0].n;
  await until('all tasks to run', async () => (await running()) === requests * instances);
  await query('ANALYZE');
  return { url, stop };
}

/** Another process of this folder, ready to be asked. */
const child = (file) => fork(fileURLToPath(new URL(file, import.meta.url)));
const caller = child('support/load.mjs');
const bare = child('api/bare-server.mjs');
const [barePort] = await once(bare, 'message');

async function ask(call) {
  caller.send(call);
  return (await once(caller, 'message'))[0];
}

/** Origin of the product; its metrics are those of all processes together. */
let origin;
const figure = async (name) => {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1]);
};

/** After a while of the same, with what the product computed meanwhile, and how late timers of the process that leads were. */
async function measure(call, { warmUpSeconds, ...load }) {
  if (warmUpSeconds > 0) await ask({ ...call, ...load, seconds: warmUpSeconds });
  const late = monitorEventLoopDelay({ resolution: 10 });
  late.enable();
  const before = await figure('process_cpu_seconds_total');
  const measured = await ask({ ...call, ...load });
  const used = (await figure('process_cpu_seconds_total')) - before;
  late.disable();
  if (measured.failed > 0) throw new Error(`${call.path}: ${measured.failed} of ${measured.calls} calls failed`);
  return { ...measured, cpuMillis: (used * 1_000) / measured.calls, lateMillis: late.percentile(99) / 1e6 };
}

/** One call after the other of the same kind, with what it costs this process and where. */
async function profile(call, { warmUpSeconds, ...load }) {
  await ask({ ...call, ...load, seconds: Math.max(1, warmUpSeconds) });
  const detail = { title: `${call.path}, calls:`, parts: layers, detail: given.profile, count: ({ calls }) => calls };
  await profiled(detail, () => ask({ ...call, ...load }));
}

const rounded = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;
const server = await startServer();
const results = [];
try {
  const { url, stop } = await startProduct(server.url);
  origin = url;
  try {
    for (const { name, path, method = 'GET', body, connections = load.connections } of calls) {
      const call = { origin: url, path: `/api/${path}`, method, body };
      const bytes = await ask(call);
      const ofThis = { ...load, connections };
      const here = await measure(call, ofThis);
      if (given.profile !== undefined) await profile(call, ofThis);
      const bareCall = { origin: `http://127.0.0.1:${barePort}`, path: `/${bytes}`, method, body };
      const there = await measure(bareCall, { ...ofThis, seconds: load.seconds / 2, warmUpSeconds: 1 });
      results.push({
        call: name,
        bytes,
        'per second': rounded(here.perSecond),
        'p50, ms': rounded(here.p50),
        'p99, ms': rounded(here.p99),
        'CPU per call, ms': rounded(here.cpuMillis, 3),
        'leader late p99, ms': rounded(here.lateMillis),
        'memory, MB': rounded((await figure('process_resident_memory_bytes')) / 1e6, 0),
        'bare per second': rounded(there.perSecond),
        'bare p99, ms': rounded(there.p99),
      });
      console.log(JSON.stringify(results.at(-1)));
    }
  } finally {
    await stop();
  }
} finally {
  await server.stop();
  caller.disconnect();
  bare.disconnect();
}
console.log(
  `${requests} requests, ${requests * instances} tasks on ${machines} machines, ${load.connections} connections`,
);
console.table(results);
console.log(JSON.stringify({ bench: 'api', requests, machines, ...load, results, machine }));
process.exit(0);
