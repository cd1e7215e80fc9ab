// The leader while thousands of tasks fail their health checks every few seconds: how late its event loop is, how late
// the checks are, and how much of a CPU it takes. The whole application, PostgreSQL, and the programs that are asked in a
// second process. References in the same run: the same number of GETs per second by undici alone, nothing decided and
// nothing stored; and a process that does nothing, which shows what the rest of the machine does to an event loop.
//
//   npm run bench:health                                         2,000 tasks, every 5 s, for 60 s
//   npm run bench:health -- --tasks 500 --interval 2 --seconds 20
//   npm run bench:health -- --liveness yes                           10,000 healthy tasks that are asked on, every 5 s
//   npm run bench:health -- --dependency yes                         all tasks of services turn unhealthy at once, on the built product:
//                                                                    how many are replaced at a time
import '../support/ts-register.mjs';
import { fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { machine, options, product, SimulatedCluster, startServer } from './support/bench-world.mjs';
import { insertServices } from './support/insert-requests.mjs';

const { startApp } = await product('app.js');
const { Database } = await product('platform/database/database.js');
const { SettingsFile } = await product('platform/settings/settings.js');

const given = options(process.argv.slice(2));
if (given.dependency !== undefined) {
  const { breakDependency } = await import('./health/dependency.ts');
  const services = await breakDependency({}, Number(given.seconds ?? 60));
  console.log('The dependency of all liveness checks is away');
  console.table(services);
  console.log(JSON.stringify({ bench: 'health', services, machine }));
  process.exit(services.every((one) => one.mostReplacedAtOnce <= one.maxUnhealthyReplacements) ? 0 : 1);
}

/** Tasks that pass are asked on, and none of their results is stored. */
const liveness = given.liveness !== undefined;
const tasks = Number(given.tasks ?? (liveness ? 10_000 : 2_000));
const interval = Number(given.interval ?? 5);
const seconds = Number(given.seconds ?? 60);
const warmUpSeconds = Number(given.warmup ?? 15);
const instances = 5;
const machines = 50;
/** Several: the ports of closed connections to one and the same target would run out. */
const targetPorts = 16;
const tickMillis = 100;
const idleSeconds = 20;

const rounded = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;
const percentile = (values, p) => values[Math.min(values.length - 1, Math.ceil((p / 100) * values.length) - 1)];

const insertRequests = (query, ports) =>
  insertServices(query, {
    tasks,
    instances,
    deployOf: (requestId, index) => ({
      requestId,
      id: 'd1',
      command: 'exec ./serve',
      env: { LOG_LEVEL: 'info', REGION: 'eu-1' },
      resources: { cpus: 0.1, memoryMb: 64, numPorts: 0, diskMb: 0 },
      healthcheck: {
        uri: '/health',
        portNumber: ports[index % ports.length],
        intervalSeconds: interval,
        ...(liveness && { liveness: { intervalSeconds: interval } }),
      },
    }),
  });

async function until(what, condition) {
  for (const deadline = Date.now() + 120_000; !(await condition()); await pause(200)) {
    if (Date.now() > deadline) throw new Error(`Not in time: ${what}`);
  }
}

/** Figures of the process while `work` went on. */
async function watched(work) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const [cpuBefore, begun] = [process.cpuUsage(), performance.now()];
  const done = await work();
  const [cpu, took] = [process.cpuUsage(cpuBefore), performance.now() - begun];
  delay.disable();
  const millis = (nanoseconds) => rounded(nanoseconds / 1e6);
  return {
    done,
    figures: {
      'checks per second': rounded(done / (took / 1_000)),
      'event loop p50, ms': millis(delay.percentile(50)),
      'event loop p99, ms': millis(delay.percentile(99)),
      'event loop max, ms': millis(delay.max),
      'share of a CPU': rounded((cpu.user + cpu.system) / 1_000 / took, 2),
    },
  };
}

/** By its rows: each check against the end of the one before and the interval. Sorted milliseconds. */
async function lateness(query, since, until) {
  const found = await query(
    `SELECT extract(epoch FROM checked_at - former) * 1000 - former_millis - $3 AS late FROM (
       SELECT checked_at, lag(checked_at) OVER w AS former, lag(duration_millis) OVER w AS former_millis
       FROM task_healthcheck WINDOW w AS (PARTITION BY task_id ORDER BY checked_at)) c
     WHERE checked_at BETWEEN $1 AND $2 AND former IS NOT NULL ORDER BY 1`,
    [new Date(since), new Date(until), interval * 1_000],
  );
  return found.map(({ late }) => Number(late));
}

async function measureProduct(databaseUrl, ports) {
  const cluster = new SimulatedCluster({ machines: 0, startAt: Date.now() });
  for (let number = 1; number <= machines; number++) {
    cluster.addMachine({ slaveId: `slave-${number}`, hostname: `127.0.0.${number}`, cpus: 64 });
  }
  const settings = {
    ...SettingsFile.parse({ healthcheckPortNumbers: ports }),
    port: 0,
    host: '127.0.0.1',
    databaseUrl,
    dataDir: tmpdir(),
  };
  const { app } = await startApp({ settings, driver: cluster.driver(), logger: false });
  const query = (sql, parameters) => app.get(Database).pool.query(sql, parameters);
  const time = setInterval(() => void cluster.advance(Math.max(Date.now() - cluster.now(), 0)), tickMillis);
  try {
    await insertRequests(query, ports);
    const checked = async () =>
      (await query('SELECT count(DISTINCT task_id)::integer AS n FROM task_healthcheck'))[0].n;
    await until('a check of every task', async () => (await checked()) === tasks);
    const finished = 'SELECT count(*)::integer AS n FROM task WHERE healthchecks_finished';
    if (liveness) await until('health of every task', async () => (await query(finished))[0].n === tasks);
    await query('ANALYZE');
    await pause(warmUpSeconds * 1_000);
    const since = Date.now();
    const askedBefore = await askedSoFar();
    const results = async () => {
      await pause(seconds * 1_000);
      if (liveness) return (await askedSoFar()) - askedBefore;
      const [{ n }] = await query('SELECT count(*)::integer AS n FROM task_healthcheck WHERE checked_at >= $1', [
        new Date(since),
      ]);
      return n;
    };
    const { figures } = await watched(results);
    if (liveness) return figures;
    const late = await lateness(query, since, since + seconds * 1_000);
    return { ...figures, 'late p50, ms': rounded(percentile(late, 50)), 'late p99, ms': rounded(percentile(late, 99)) };
  } finally {
    clearInterval(time);
    await app.close();
  }
}

/** Each GET on a connection of its own, as a check is. */
async function measureBare(ports, perSecond) {
  const begun = performance.now();
  const running = new Set();
  let done = 0;
  const get = async () => {
    const port = ports[done % ports.length];
    const { body } = await request(`http://127.0.0.${(done % machines) + 1}:${port}/health`, { reset: true });
    await body.text();
  };
  const { figures } = await watched(async () => {
    for (;;) {
      const due = Math.floor(((performance.now() - begun) / 1_000) * perSecond);
      for (; done < due; done++) {
        const asked = get().finally(() => running.delete(asked));
        running.add(asked);
      }
      if (performance.now() - begun > seconds * 1_000) break;
      await pause(5);
    }
    await Promise.all(running);
    return done;
  });
  return figures;
}

const targets = fork(fileURLToPath(new URL('./health/targets.mjs', import.meta.url)), [
  String(targetPorts),
  liveness ? '200' : '503',
]);
const askedSoFar = () => {
  const answer = new Promise((resolve) => targets.once('message', resolve));
  targets.send('asked');
  return answer;
};
const ports = await new Promise((resolve) => targets.once('message', resolve));
const server = await startServer();
let idle, leader, bare;
try {
  ({ figures: idle } = await watched(() => pause(idleSeconds * 1_000, 0)));
  leader = await measureProduct(server.url, ports);
  bare = await measureBare(ports, leader['checks per second']);
} finally {
  await server.stop();
  targets.disconnect();
}
console.log(`${tasks} tasks that ${liveness ? 'pass' : 'fail'} their check every ${interval} s, for ${seconds} s`);
console.table({ leader, 'undici alone': bare, 'nothing at all': idle });
console.log(JSON.stringify({ bench: 'health', tasks, interval, seconds, leader, bare, idle, machine }));
process.exit(0);
