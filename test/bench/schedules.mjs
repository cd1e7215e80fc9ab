// Schedules and flows on one leader: the whole application as it leads, a real PostgreSQL, and simulated machines in the same process.
// (a) Many SCHEDULED requests that are all due in one minute: delay from the planned time of each run to its machine; without jitter,
// and spread over a minute by jitter; as usual, and with a policy for overlaps, whose times are each decided when they come.
// (b) Flows of ten runs, half of them chains, half of them a fan-out of eight that meet again: runs a second, and the delay from the end of
// the last parent to the start of its child. The processor time of the process is printed beside that of an idle leader, over the
// same time and with the same rows.
//
//   npm run bench:schedules                                   10,000 requests, then 1,000 flows a minute for three minutes
//   npm run bench:schedules -- --requests 2000 --flows 100 --minutes 1
//   npm run bench:schedules -- --only flows --profile functions
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { machine, options, product, SimulatedCluster, startServer } from './support/bench-world.mjs';
import { profiled, schedulerParts as parts } from './support/profile.mjs';

const { startApp } = await product('app.js');
const { Database } = await product('platform/database/database.js');
const { SettingsFile } = await product('platform/settings/settings.js');

const given = options(process.argv.slice(2));
const requests = Number(given.requests ?? 10_000);
const flows = Number(given.flows ?? 1_000);
const minutes = Number(given.minutes ?? 3);
const machines = 200;
const tickMillis = 10;
/** Length of a run of a schedule, and of one in a flow. */
const runMillis = 10_000;
const stepMillis = 500;
const idleMillis = 20_000;
const minute = 60_000;
const jitterMillis = minute;

const scenarios = [
  { name: 'due at once', members: {} },
  { name: 'due at once, BUFFER_ONE', members: { overlapPolicy: 'BUFFER_ONE' } },
  { name: 'spread over 60 s', members: { scheduleJitterMillis: jitterMillis } },
  {
    name: 'spread over 60 s, BUFFER_ONE',
    members: { scheduleJitterMillis: jitterMillis, overlapPolicy: 'BUFFER_ONE' },
  },
].filter(({ name }) => given.only === undefined || name.includes(given.only));
const measuresFlows = given.only === undefined || 'flows'.includes(given.only);

const rounded = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;
const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)];

/** Launches as they came to their machines. */
let launches = [];
let millisOfRun = runMillis;

const server = await startServer();
const cluster = new SimulatedCluster({ machines: 0, machinesPerAgent: 10, waitsForAgents: false, startAt: Date.now() });
for (let number = 1; number <= machines; number++) cluster.addMachine({ slaveId: `slave-${number}`, cpus: 64 });
cluster.onLaunch(({ taskId, environment }) => {
  launches.push({ taskId, environment, at: Date.now() });
  return { runFor: millisOfRun };
});
const settings = { ...SettingsFile.parse({}), port: 0, host: '127.0.0.1', databaseUrl: server.url, dataDir: tmpdir() };
const { app } = await startApp({ settings, driver: cluster.driver(), logger: false });
const query = (sql, parameters) => app.get(Database).pool.query(sql, parameters);
const count = async (rest) => (await query(`SELECT count(*)::integer AS n FROM ${rest}`))[0].n;
let advancing;
const time = setInterval(() => {
  advancing ??= cluster.advance(Math.max(Date.now() - cluster.now(), 0)).finally(() => (advancing = undefined));
}, tickMillis);

async function until(what, condition, everyMillis = 200) {
  for (const deadline = Date.now() + 10 * minute; !(await condition()); await pause(everyMillis)) {
    if (Date.now() > deadline) throw new Error(`Not in time: ${what}`);
  }
}

/** Requests with an active deploy each, as a deploy that succeeded leaves them: their next runs are planned now. */
async function insertJobs(documents) {
  const now = new Date();
  const ids = documents.map(({ id }) => id);
  await query(
    `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
     SELECT document->>'id', document->>'requestType', 'ACTIVE', $2, 'd1', document FROM unnest($1::jsonb[]) AS r (document)`,
    [documents.map((document) => JSON.stringify(document)), now],
  );
  const deployOf = (requestId) => ({
    requestId,
    id: 'd1',
    command: 'exec ./job',
    resources: { cpus: 0.1, memoryMb: 64 },
  });
  await query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
     SELECT id, 'd1', $3, data FROM unnest($1::text[], $2::jsonb[]) AS d (id, data)`,
    [ids, ids.map((id) => JSON.stringify({ deploy: deployOf(id) })), now],
  );
  const scheduled = documents.filter(({ requestType }) => requestType === 'SCHEDULED').map(({ id }) => id);
  const entry = { deployId: 'd1', timestamp: now.getTime(), pendingType: 'NEW_DEPLOY' };
  await query(
    `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
     SELECT id, 'd1', 'NEW_DEPLOY', $3, document FROM unnest($1::text[], $2::jsonb[]) AS p (id, document)`,
    [scheduled, scheduled.map((requestId) => JSON.stringify({ requestId, ...entry })), now],
  );
  await until('the next run of each request', async () => (await count('pending_request')) === 0);
  await query('ANALYZE');
}

/** Processor seconds of this process while `work` goes on. */
async function cpuOf(work) {
  const [before, begun] = [process.cpuUsage(), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuSeconds: (user + system) / 1e6, seconds: (performance.now() - begun) / 1_000 };
}

/** What the leader needs for the same time when nothing is due, by a sample of it. */
async function idleShare() {
  await pause(2_000);
  const { cpuSeconds, seconds } = await cpuOf(() => pause(idleMillis));
  return cpuSeconds / seconds;
}

/** All are due in the minute `due`, once in a year. */
async function measureSchedules({ name, members }, index) {
  launches = [];
  millisOfRun = runMillis;
  const due = Math.ceil((Date.now() + 60_000) / minute) * minute;
  const at = new Date(due);
  const schedule = `${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`;
  await insertJobs(
    Array.from({ length: requests }, (_, number) => ({
      id: `job-${index}-${number}`,
      requestType: 'SCHEDULED',
      schedule,
      scheduleType: 'CRON',
      ...members,
    })),
  );
  if (Date.now() + idleMillis + 4_000 > due) throw new Error(`${requests} requests are not planned in time`);
  const idle = await idleShare();
  await pause(due - 1_000 - Date.now());
  const { cpuSeconds, seconds } = await profiled(
    { title: `${name}:`, parts, detail: given.profile, count: () => requests },
    () =>
      cpuOf(async () => {
        await until('all runs', () => launches.length >= requests, 50);
        await until('the end of all runs', async () => (await count('task')) === 0);
      }),
  );
  const late = launches
    .map(({ environment, at: startedAt }) => startedAt - Date.parse(environment.TASK_SCHEDULED_AT))
    .toSorted((a, b) => a - b);
  return {
    schedules: name,
    runs: launches.length,
    'late p50, ms': percentile(late, 50),
    'p99, ms': percentile(late, 99),
    'last, ms': late.at(-1),
    'later than 1 s': late.filter((millis) => millis > 1_000).length,
    'CPU seconds': rounded(cpuSeconds),
    'idle leader, CPU seconds': rounded(idle * seconds),
    seconds: rounded(seconds),
  };
}

/** Ten requests: a chain, or one whose end starts eight, which the last one waits for. Each flow begins once a minute. */
function flowOf(number) {
  const id = (step) => `flow-${number}-${step}`;
  const after = (...parents) => parents.map((requestId) => ({ requestId, on: 'SUCCESS' }));
  const isChain = number % 2 === 0;
  const second = Math.floor((number * 60) / flows);
  const root = {
    id: id(0),
    requestType: 'SCHEDULED',
    quartzSchedule: `${second} * * * * ?`,
    scheduleType: 'QUARTZ',
    endAt: flowsEnd,
  };
  const others = Array.from({ length: 9 }, (_, index) => {
    const step = index + 1;
    const middle = Array.from({ length: 8 }, (_one, place) => id(place + 1));
    const parents = isChain ? after(id(step - 1)) : step < 9 ? after(id(0)) : after(...middle);
    return { id: id(step), requestType: 'ON_DEMAND', after: parents };
  });
  return [root, ...others];
}

let flowsEnd;
async function measureFlows() {
  launches = [];
  millisOfRun = stepMillis;
  // From a full minute on, when all is planned.
  const begin = Math.ceil((Date.now() + 60_000) / minute) * minute;
  flowsEnd = begin + minutes * minute - 1;
  const documents = Array.from({ length: flows }, (_, number) => flowOf(number)).flat();
  await insertJobs(
    documents.map((document) => ('quartzSchedule' in document ? { ...document, startAt: begin } : document)),
  );
  const idle = await idleShare();
  await pause(begin - Date.now());
  const expected = flows * minutes * 10;
  let backlog = {};
  const { cpuSeconds, seconds } = await profiled(
    { title: 'flows:', parts, detail: given.profile, count: () => expected },
    () =>
      cpuOf(async () => {
        await pause(minutes * minute);
        const due = `pending_task WHERE next_run_at <= now() AND NOT delete_requested`;
        const waiting = 'flow_run WHERE queued_at IS NULL AND ended_at IS NULL';
        backlog = {
          launched: launches.length,
          waiting: await count(waiting),
          queued: await count('pending_request'),
          due: await count(due),
        };
      }),
  );
  const drained = performance.now();
  await until('the end of all flows', () => launches.length >= expected, 50).catch((cause) =>
    console.error(cause.message),
  );
  const drainedSeconds = (performance.now() - drained) / 1_000;
  const startedAt = new Map(launches.map(({ taskId, at }) => [taskId, at]));
  const delays = launches
    .filter(({ environment }) => environment.TASK_PARENT_RUNS)
    .map(({ environment, at }) => {
      const parents = environment.TASK_PARENT_RUNS.split(' ').map((taskId) => startedAt.get(taskId) + stepMillis);
      return at - Math.max(...parents);
    })
    .toSorted((a, b) => a - b);
  return {
    'flows a minute': flows,
    'runs a second': rounded(backlog.launched / (minutes * 60)),
    'asked for': rounded((flows * 10) / 60),
    "from a parent's end p50, ms": percentile(delays, 50),
    'p99, ms': percentile(delays, 99),
    'longest, ms': delays.at(-1),
    'waiting at the end': backlog.waiting + backlog.queued + backlog.due,
    'all ended after, s': rounded(drainedSeconds),
    runs: launches.length,
    'CPU seconds': rounded(cpuSeconds),
    'idle leader, CPU seconds': rounded(idle * seconds),
    seconds: rounded(seconds),
  };
}

const schedules = [];
let flowFigures;
try {
  await until('a leader', async () => (await count('slave')) === machines);
  for (const [index, scenario] of scenarios.entries()) {
    schedules.push(await measureSchedules(scenario, index));
    console.log(JSON.stringify(schedules.at(-1)));
  }
  if (measuresFlows) flowFigures = await measureFlows();
} finally {
  clearInterval(time);
  await app.close();
  await server.stop();
}
if (schedules.length > 0) {
  console.log(`${requests} SCHEDULED requests due in one minute, on ${machines} simulated machines`);
  console.table(schedules);
}
if (flowFigures) {
  console.log(`${flows} flows of 10 runs of ${stepMillis} ms begin each minute, for ${minutes} minutes`);
  console.table([flowFigures]);
}
console.log(JSON.stringify({ bench: 'schedules', requests, flows, minutes, schedules, flowFigures, machine }));
process.exit(0);
