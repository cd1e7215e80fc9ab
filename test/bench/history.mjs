// Searches of the task history over HTTP: page 1 of every filter, and the forms that count, on 1,000,000 ended tasks.
// The reference in the same run: as many rows by primary key as a page has, with bare SQL over one connection.
//
//   npm run bench:history
//   npm run bench:history -- --tasks 100000 --runs 50
import { fillHistory, newest } from './history/fill.mjs';
import { machine, options, product, SimulatedCluster, startServer } from './support/bench-world.mjs';

const { NestFactory } = await import('@nestjs/core');
const { Module } = await import('@nestjs/common');
const { entities } = await product('entities.js');
const { HistoryModule } = await product('modules/history/history.module.js');
const { connect } = await product('platform/database/connection.js');
const { configureHttp, httpOptions } = await product('platform/http/configure-http.js');
const { HttpAdapter } = await product('platform/http/http-adapter.js');
const { PlatformModule } = await product('platform/platform.module.js');
const { RepositoriesModule } = await product('repositories.module.js');
const { SettingsFile } = await product('platform/settings/settings.js');

const given = options(process.argv.slice(2));
const tasks = Number(given.tasks ?? 1_000_000);
const runs = Number(given.runs ?? 100);
const day = 86_400_000;

/** Filters, by the words of the table. The big request has a fifth of all tasks; times are of a history of 90 days. */
const filters = {
  'no filter': '',
  request: 'requestId=request-7',
  'big request': 'requestId=big',
  deploy: 'deployId=d7-3',
  'old deploy of the big request': 'deployId=dbig-0',
  'deploy id of all requests': 'deployId=common',
  run: 'runId=run-500000',
  host: 'host=host_7',
  'status FINISHED': 'lastTaskStatus=TASK_FINISHED',
  'status LOST (all old)': 'lastTaskStatus=TASK_LOST',
  'status nobody has': 'lastTaskStatus=TASK_ERROR',
  'startedBefore the middle': `startedBefore=${newest - 45 * day}`,
  'startedBefore the beginning': `startedBefore=${newest - 100 * day}`,
  'startedAfter the middle': `startedAfter=${newest - 45 * day}`,
  'startedAfter the end': `startedAfter=${newest + day}`,
  'started in one hour': `startedAfter=${newest - 45 * day}&startedBefore=${newest - 45 * day + 3_600_000}`,
  'updatedBefore the middle': `updatedBefore=${newest - 45 * day}`,
  'updatedAfter the middle': `updatedAfter=${newest - 45 * day}`,
  'updated in one hour': `updatedAfter=${newest - 45 * day}&updatedBefore=${newest - 45 * day + 3_600_000}`,
  'big request, deploy': 'requestId=big&deployId=dbig-0',
  'big request, status FAILED': 'requestId=big&lastTaskStatus=TASK_FAILED',
  'big request, host': 'requestId=big&host=host_7',
  'big request, run': 'requestId=big&runId=run-500000',
  'big request, startedBefore': `requestId=big&startedBefore=${newest - 45 * day}`,
  'big request, updatedBefore': `requestId=big&updatedBefore=${newest - 45 * day}`,
  'host, status FAILED': 'host=host_7&lastTaskStatus=TASK_FAILED',
  'deploy, status LOST': 'deployId=dbig-0&lastTaskStatus=TASK_LOST',
  'status FAILED, startedBefore': `lastTaskStatus=TASK_FAILED&startedBefore=${newest - 45 * day}`,
  'host, startedBefore': `host=host_7&startedBefore=${newest - 45 * day}`,
  'all filters': `requestId=big&deployId=dbig-4&host=host_7&lastTaskStatus=TASK_FINISHED&startedAfter=${newest - 80 * day}&startedBefore=${newest}&updatedAfter=${newest - 80 * day}&updatedBefore=${newest}`,
};
const forms = {
  page: (filter) => `tasks?${filter}`,
  'page, oldest first': (filter) => `tasks?${filter}&orderDirection=ASC`,
  counted: (filter) => `tasks/withmetadata?${filter}`,
};

async function startRoom(url) {
  const settings = { ...SettingsFile.parse({}), port: 0, host: '127.0.0.1', databaseUrl: url, dataDir: '.' };
  const driver = new SimulatedCluster({ machines: 1 }).driver();
  class Room {}
  Module({ imports: [PlatformModule.forRoot({ settings, driver, entities }), RepositoriesModule, HistoryModule] })(
    Room,
  );
  const app = await NestFactory.create(Room, new HttpAdapter(settings.http), {
    ...httpOptions,
    logger: false,
    abortOnError: false,
  });
  configureHttp(app, settings);
  await app.listen(0, '127.0.0.1');
  return { app, api: `http://127.0.0.1:${app.getHttpServer().address().port}/api/history/` };
}

const percentile = (sorted, share) =>
  Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1));
function summary(millis) {
  const sorted = millis.toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}
async function measure(work) {
  await work();
  const millis = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    await work();
    millis.push(performance.now() - started);
  }
  return summary(millis);
}
async function read(url) {
  const answer = await fetch(url);
  const body = await answer.json();
  if (!answer.ok) throw new Error(JSON.stringify(body));
  return body;
}

const server = await startServer();
let result;
try {
  const client = await connect(server.url, 'bench', 600_000);
  const filling = performance.now();
  await fillHistory(client, tasks);
  console.log(`${tasks} tasks written in ${((performance.now() - filling) / 1_000).toFixed(0)} s`);
  const keys = (await client.query('SELECT task_id FROM task_history ORDER BY updated_at DESC LIMIT 100')).rows;
  const ids = keys.map((row) => row.task_id);
  const { app, api } = await startRoom(server.url);
  const table = {};
  for (const [name, filter] of Object.entries(filters)) {
    const row = { matches: (await read(`${api}tasks/withmetadata?${filter}`)).dataCount };
    for (const [form, path] of Object.entries(forms)) row[form] = await measure(() => read(api + path(filter)));
    table[name] = row;
  }
  const reference = await measure(() =>
    client.query(
      'SELECT task_id, request_id, updated_at, run_id, last_task_status FROM task_history WHERE task_id = ANY ($1) LIMIT 100',
      [ids],
    ),
  );
  result = { table, reference };
  await app.close();
  await client.end();
} finally {
  await server.stop();
}

const shown = ({ p50, p99 }) => `${p50} / ${p99}`;
console.log(`${tasks} tasks, ${runs} calls each over HTTP, p50 / p99 in milliseconds`);
console.table(
  Object.fromEntries(
    Object.entries(result.table).map(([name, { matches, ...each }]) => [
      name,
      { matches, ...Object.fromEntries(Object.entries(each).map(([form, figures]) => [form, shown(figures)])) },
    ]),
  ),
);
console.log(`Reference, 100 rows by primary key with bare SQL: ${shown(result.reference)}`);
const worst = (...names) =>
  Math.max(...Object.values(result.table).flatMap((row) => names.map((name) => row[name].p99)));
console.log(
  JSON.stringify({
    bench: 'history',
    tasks,
    runs,
    unit: 'ms',
    worstPageP99: worst('page', 'page, oldest first'),
    worstCountedP99: worst('counted'),
    reference: result.reference,
    filters: result.table,
    machine,
  }),
);
process.exit(0);
