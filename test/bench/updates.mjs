// Status updates applied per second: tasks placed and launched by the scheduler report TASK_STARTING, TASK_RUNNING and
// TASK_FINISHED through one agent per machine, each of which acknowledges before it goes on. The reference in the same
// run, the bare rate: the same rows written into the same tables in batches of 500, without locks, deletes or decisions.
//
//   npm run bench:updates                                        20,000 tasks on 5,000 machines
//   npm run bench:updates -- --tasks 5000 --machines 500
//   npm run bench:updates -- --profile parts                     CPU microseconds of an update by part; `functions`: by function, too
//   npm run bench:updates -- --webhook yes                       the same while a webhook is told of each of them
import { machine, options, product, startServer, startWorld } from './support/bench-world.mjs';
import { profiled, schedulerParts } from './support/profile.mjs';

const { makePendingTaskId } = await product('core/task-id.js');
const { ClusterWatch } = await product('scheduler/cluster/cluster-watch.service.js');
const { LaunchDispatcher } = await product('scheduler/dispatch/launch-dispatcher.service.js');
const { PlacementService } = await product('scheduler/placement/placement.service.js');

const instances = 5;
const batch = 500;
const given = options(process.argv.slice(2));
const tasks = Number(given.tasks ?? 20_000);
const machines = Number(given.machines ?? 5_000);
/** Virtual milliseconds from one status of a task to its next: no two states come in one phase. */
const phaseMillis = 1_000_000;
const phases = ['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED'];

const deployOf = (requestId) => ({
  requestId,
  id: 'd1',
  command: 'exec ./job --input "$INPUT"',
  env: { LOG_LEVEL: 'info', REGION: 'eu-1', JAVA_OPTS: '-Xmx48m -XX:+UseSerialGC' },
  resources: { cpus: 0.1, memoryMb: 64, numPorts: 1 },
});

const count = async (world, table) => (await world.query(`SELECT count(*)::integer AS count FROM ${table}`))[0].count;

/** Requests with an active deploy each, and their pending tasks, all of which then run. */
async function launchTasks(world) {
  const now = world.cluster.now();
  const ids = Array.from({ length: Math.ceil(tasks / instances) }, (_, index) => `request-${index}`);
  await world.query(
    `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
     SELECT id, 'WORKER', 'ACTIVE', $3, 'd1', document FROM unnest($1::text[], $2::jsonb[]) AS r (id, document)`,
    [ids, ids.map((id) => JSON.stringify({ id, requestType: 'WORKER', instances })), new Date(now)],
  );
  await world.query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
     SELECT id, 'd1', $3, data FROM unnest($1::text[], $2::jsonb[]) AS d (id, data)`,
    [ids, ids.map((id) => JSON.stringify({ deploy: deployOf(id) })), new Date(now)],
  );
  const pending = Array.from({ length: tasks }, (_, index) => {
    const requestId = ids[Math.floor(index / instances)];
    const parts = { requestId, deployId: 'd1', nextRunAt: now, instanceNo: (index % instances) + 1, createdAt: now };
    return { pendingTaskId: makePendingTaskId({ ...parts, pendingType: 'NEW_DEPLOY' }), user: 'bench@example.com' };
  });
  const column = (pick) => pending.map(({ pendingTaskId }) => pick(pendingTaskId));
  await world.query(
    `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, document)
     SELECT id, request_id, 'd1', instance_no, 'NEW_DEPLOY', $5, $5, document
     FROM unnest($1::text[], $2::text[], $3::integer[], $4::jsonb[]) AS p (id, request_id, instance_no, document)`,
    [
      column(({ id }) => id),
      column(({ requestId }) => requestId),
      column(({ instanceNo }) => instanceNo),
      pending.map((task) => JSON.stringify(task)),
      new Date(now),
    ],
  );
  await world.query('ANALYZE request, deploy_history, pending_task');
  for (let left = tasks; left > 0; left = await count(world, 'pending_task')) {
    await world.get(PlacementService).runOnce(now);
  }
  await world.get(LaunchDispatcher).settled();
  await world.query('ANALYZE task, task_launch, task_update');
}

/** Lets every task come to its next state, but delivers nothing. */
function nextStates({ cluster }, until) {
  while (cluster.events.nextAt <= until) cluster.events.runNext();
}

/** All agents at once hand over what they have, and each goes on when that is stored. Answers seconds. */
async function deliver(world, after) {
  const events = world.get(ClusterWatch);
  const started = performance.now();
  await Promise.all(
    [...world.cluster.agents.values()].map(async (agent) => {
      for (;;) {
        const updates = agent.pull(after.get(agent.agentId) ?? 0, 1);
        if (updates.length === 0) return;
        await events.statusUpdates(updates);
        after.set(agent.agentId, updates.at(-1).number);
      }
    }),
  );
  return (performance.now() - started) / 1_000;
}

const writeUpdates = `INSERT INTO task_update (task_id, state, at, message, reason, previous)
  SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::jsonb[])`;
const writeTasks = `UPDATE task SET state = n.state, state_at = n.at, running_at = coalesce(task.running_at, n.running_at),
    ended_at = n.ended_at FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[])
    AS n (task_id, state, at, running_at, ended_at) WHERE task.task_id = n.task_id`;
const writeHistory = (columns) =>
  `INSERT INTO task_history (${columns}) SELECT ${columns} FROM bench_history WHERE task_id = ANY ($1)`;

/** Time at which each task came to a state, as the history tells. */
const readUpdates = (world, state) =>
  world.query(
    `SELECT task_id, to_timestamp((u ->> 'timestamp')::bigint / 1000.0) AS time
     FROM task_history, jsonb_array_elements(data -> 'taskUpdates') u WHERE u ->> 'taskState' = $1 ORDER BY task_id`,
    [state],
  );

/** The rows of one phase written once more, as they came out; answers seconds. */
async function writeBare(world, state, updates, columns) {
  const started = performance.now();
  for (let first = 0; first < updates.length; first += batch) {
    const slice = updates.slice(first, first + batch);
    const ids = slice.map((row) => row.task_id);
    const states = slice.map(() => state);
    const times = slice.map((row) => row.time);
    const none = slice.map(() => null);
    await world.db.leaderPool.transaction(async (tx) => {
      await tx.query(writeUpdates, [ids, states, times, none, none, slice.map(() => '[]')]);
      const isEnd = state === 'TASK_FINISHED';
      await tx.query(writeTasks, [ids, states, times, state === 'TASK_RUNNING' ? times : none, isEnd ? times : none]);
      if (isEnd) await tx.query(writeHistory(columns), [ids]);
    });
  }
  return (performance.now() - started) / 1_000;
}

/** Columns of the history that are not worked out by the database. */
async function historyColumns(world) {
  const columns = await world.query(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_name = 'task_history' AND is_generated = 'NEVER' ORDER BY ordinal_position`,
  );
  return columns.map(({ name }) => name).join(', ');
}

const perSecond = (seconds) => Math.round(tasks / seconds);
const total = (seconds) => Math.round((tasks * seconds.length) / seconds.reduce((sum, each) => sum + each, 0));

async function measure(url) {
  const world = await startWorld(url, { machines });
  try {
    world.cluster.onLaunch(() => ({ startAfter: phaseMillis, runFor: phaseMillis }));
    await launchTasks(world);
    await world.driver.stop();
    if (given.webhook) {
      await world.query(
        `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://127.0.0.1:9/', 'TASK', now())`,
      );
    }
    await world.query('CREATE TABLE bench_task AS TABLE task; CREATE TABLE bench_update AS TABLE task_update');
    const after = new Map();
    const seconds = [];
    for (const phase of phases.keys()) {
      nextStates(world, world.cluster.now() + (phase + 0.5) * phaseMillis);
      const profile = { parts: schedulerParts, detail: given.profile, count: () => tasks };
      seconds.push(await profiled({ title: `${phases[phase]}:`, ...profile }, () => deliver(world, after)));
    }
    const moved = await count(world, 'task_history');
    if (moved !== tasks) throw new Error(`${moved} of ${tasks} tasks are in the history`);
    const [{ bytes }] = await world.query(
      `SELECT round(pg_total_relation_size('task_history')::numeric / $1)::integer AS bytes`,
      [tasks],
    );
    const columns = await historyColumns(world);
    await world.query(`CREATE TABLE bench_history AS SELECT ${columns} FROM task_history`);
    await world.query('CREATE INDEX ON bench_history (task_id); ANALYZE bench_history');
    const updates = new Map();
    for (const state of phases) updates.set(state, await readUpdates(world, state));
    await world.query('TRUNCATE task, task_update, task_history');
    await world.query('INSERT INTO task TABLE bench_task; INSERT INTO task_update TABLE bench_update');
    const bare = [];
    for (const state of phases) bare.push(await writeBare(world, state, updates.get(state), columns));
    return { seconds, bare, bytes };
  } finally {
    await world.close();
  }
}

const server = await startServer();
let result;
try {
  result = await measure(server.url);
} finally {
  await server.stop();
}
const { seconds, bare, bytes } = result;
console.log(`${tasks} tasks on ${machines} machines, updates per second`);
console.table({
  ...Object.fromEntries(
    phases.map((phase, index) => [phase, { applied: perSecond(seconds[index]), bare: perSecond(bare[index]) }]),
  ),
  'all three': { applied: total(seconds), bare: total(bare) },
});
console.log(`An ended task takes ${bytes} bytes in the history, indexes included`);
console.log(
  JSON.stringify({
    bench: 'updates',
    tasks,
    machines,
    updatesPerSecond: total(seconds),
    bareUpdatesPerSecond: total(bare),
    bytesOfEndedTask: bytes,
    rssMiB: Math.round(process.memoryUsage().rss / 2 ** 20),
    machine,
  }),
);
process.exit(0);
