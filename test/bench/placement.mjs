// Tasks placed and durably recorded per second: due pending tasks in PostgreSQL become tasks with a machine, in batches,
// behind all locks. The reference in the same run, the bare rate: the rows that came out, inserted into the same tables
// in batches of 500, without locks, deletes or decisions.
//
//   npm run bench:placement                                            the whole table
//   npm run bench:placement -- --machines 5000 --tasks 22500 --strategy SEPARATE      one case
//   npm run bench:placement -- --machines 5000 --profile parts      CPU microseconds of a task by part; `functions`: by function, too
import { machine, options, product, startServer, startWorld } from './support/bench-world.mjs';
import { profiled, schedulerParts } from './support/profile.mjs';

const { makePendingTaskId } = await product('core/task-id.js');
const { PlacementService } = await product('scheduler/placement/placement.service.js');

const instances = 5;
const batch = 500;
const given = options(process.argv.slice(2));
const resources = { cpus: 0.1, memoryMb: 64, numPorts: 1 };
const deployOf = (requestId) => ({
  requestId,
  id: 'd1',
  command: 'exec ./server --port "$PORT"',
  env: { LOG_LEVEL: 'info', REGION: 'eu-1', JAVA_OPTS: '-Xmx48m -XX:+UseSerialGC' },
  resources,
  healthcheck: { uri: '/health', intervalSeconds: 5 },
});

/** Requests with an active deploy each, and their pending tasks; `running` of them are already placed. */
async function fill(world, { tasks, strategy, prefix = 'request' }) {
  const now = world.cluster.now();
  const ids = Array.from({ length: Math.ceil(tasks / instances) }, (_, index) => `${prefix}-${index}`);
  const request = (id) => ({
    id,
    requestType: 'SERVICE',
    instances,
    slavePlacement: strategy,
    owners: [`${id}@example.com`],
  });
  await world.query(
    `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
     SELECT id, 'SERVICE', 'ACTIVE', $3, 'd1', document FROM unnest($1::text[], $2::jsonb[]) AS r (id, document)`,
    [ids, ids.map((id) => JSON.stringify(request(id))), new Date(now)],
  );
  await world.query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
     SELECT id, 'd1', $3, data FROM unnest($1::text[], $2::jsonb[]) AS d (id, data)`,
    [ids, ids.map((id) => JSON.stringify({ deploy: deployOf(id) })), new Date(now)],
  );
  const pending = Array.from({ length: tasks }, (_, index) => ({
    pendingTaskId: makePendingTaskId({
      requestId: ids[Math.floor(index / instances)],
      deployId: 'd1',
      nextRunAt: now,
      instanceNo: (index % instances) + 1,
      pendingType: 'NEW_DEPLOY',
      createdAt: now,
    }),
    user: 'bench@example.com',
  }));
  const column = (pick) => pending.map(pick);
  await world.query(
    `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, document)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::jsonb[])`,
    [
      column(({ pendingTaskId }) => pendingTaskId.id),
      column(({ pendingTaskId }) => pendingTaskId.requestId),
      column(({ pendingTaskId }) => pendingTaskId.deployId),
      column(({ pendingTaskId }) => pendingTaskId.instanceNo),
      column(({ pendingTaskId }) => pendingTaskId.pendingType),
      column(() => new Date(now)),
      column(() => new Date(now)),
      column((task) => JSON.stringify(task)),
    ],
  );
  await world.query('ANALYZE request, deploy_history, pending_task, task');
}

const count = async (world, table) => (await world.query(`SELECT count(*)::integer AS count FROM ${table}`))[0].count;

/** Places everything that is due; answers seconds. */
async function placeAll(world) {
  const placement = world.get(PlacementService);
  const started = performance.now();
  for (let left = await count(world, 'pending_task'), former = Infinity; left > 0 && left < former;) {
    await placement.runOnce(world.cluster.now());
    former = left;
    left = await count(world, 'pending_task');
  }
  return (performance.now() - started) / 1_000;
}

const tables = ['task', 'task_launch', 'task_update'];

/** The newest `tasks` rows written again into the emptied tables, as they are; answers seconds. */
async function writeBare(world) {
  const client = world.db.leaderPool;
  const written = {};
  for (const table of tables) {
    const columns = await world.query(
      `SELECT column_name AS name, CASE WHEN data_type = 'ARRAY' THEN 'text' ELSE data_type END AS type, data_type = 'ARRAY' AS is_array
       FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position`,
      [table],
    );
    const rows = await world.query(
      `SELECT ${columns.map(({ name }) => `${name}::text`).join(', ')} FROM ${table} ORDER BY task_id`,
    );
    written[table] = { columns, rows };
  }
  await world.query(`TRUNCATE ${tables.join(', ')}`);
  const total = written.task.rows.length;
  const statements = tables.map((table) => {
    const { columns } = written[table];
    // Documents travel as the product sends them: as one JSON array, which is the faster way.
    const sources = columns.map(({ type }, index) =>
      type === 'json' ? `json_array_elements($${index + 1}::json)` : `unnest($${index + 1}::${type}[])`,
    );
    const names = columns.map(({ name }) => name).join(', ');
    const picks = columns.map(({ name, is_array }) => (is_array ? `${name}::integer[]` : name)).join(', ');
    return `INSERT INTO ${table} (${names}) SELECT ${picks} FROM ROWS FROM (${sources.join(', ')}) AS n (${names})`;
  });
  const started = performance.now();
  for (let first = 0; first < total; first += batch) {
    await client.transaction(async (tx) => {
      for (const [index, table] of tables.entries()) {
        const { columns, rows } = written[table];
        const slice = rows.slice(first, first + batch);
        const column = ({ name, type }) => {
          const values = slice.map((row) => row[name]);
          return type === 'json' ? `[${values.join(',')}]` : values;
        };
        await tx.query(statements[index], columns.map(column));
      }
    });
  }
  return (performance.now() - started) / 1_000;
}

const rate = (tasks, seconds) => Math.round(tasks / seconds);
const rssMiB = () => Math.round(process.memoryUsage().rss / 2 ** 20);

async function measure(url, { machines, tasks, strategy, running = 0 }) {
  const perAgent = Math.max(1, Math.ceil(machines / 50));
  const world = await startWorld(url, { machines, machinesPerAgent: perAgent });
  try {
    if (running > 0) {
      await fill(world, { tasks: running, strategy: 'GREEDY', prefix: 'running' });
      await placeAll(world);
    }
    await fill(world, { tasks, strategy });
    const before = await count(world, 'task');
    const title = `${machines} machines, ${strategy}, tasks:`;
    const profile = { title, parts: schedulerParts, detail: given.profile, count: () => tasks };
    const seconds = await profiled(profile, () => placeAll(world));
    const placed = (await count(world, 'task')) - before;
    if (placed !== tasks) throw new Error(`Placed ${placed} of ${tasks} tasks`);
    const rss = rssMiB();
    const all = before + placed;
    const bareSeconds = await writeBare(world);
    return {
      machines,
      tasks,
      strategy,
      running,
      placementsPerSecond: rate(placed, seconds),
      bareInsertsPerSecond: rate(all, bareSeconds),
      rssMiB: rss,
    };
  } finally {
    await world.close();
  }
}

const strategies = ['OPTIMISTIC', 'SEPARATE', 'SPREAD_ALL_SLAVES'];
const one = given.machines || given.tasks || given.strategy;
const cases = one
  ? [
      {
        machines: Number(given.machines ?? 5_000),
        tasks: Number(given.tasks ?? 22_500),
        strategy: given.strategy ?? 'OPTIMISTIC',
        running: Number(given.running ?? 0),
      },
    ]
  : [
      ...[500, 2_500, 5_000].flatMap((machines) =>
        strategies.map((strategy) => ({ machines, tasks: 22_500, strategy, running: 0 })),
      ),
      { machines: 5_000, tasks: 22_500, strategy: 'OPTIMISTIC', running: 10_000 },
      { machines: 5_000, tasks: 22_500, strategy: 'OPTIMISTIC', running: 100_000 },
    ];

const server = await startServer();
const results = [];
try {
  for (const each of cases) {
    const result = await measure(server.url, each);
    results.push(result);
    if (!one) console.log(JSON.stringify(result));
  }
} finally {
  await server.stop();
}
console.table(results);
const line = one ? results[0] : { cases: results };
console.log(JSON.stringify({ bench: 'placement', ...line, machine }));
process.exit(0);
