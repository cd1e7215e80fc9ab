// Plays an agent with many machines to the built scheduler, by the agent's own contract: takes launches and kills, and reports what
// becomes of tasks, which are no processes. A task whose command is `true` ends at once. Another program asks it by HTTP what it saw.
//
//   node played-machines.mjs <data directory of the scheduler> <number of machines>
import { createServer } from 'node:http';
import { join } from 'node:path';

const product = (path) => import(new URL(`../../../dist/src/${path}`, import.meta.url));
const { AgentDirectory, sharedSecret } = await product('agent/state/agent-directory.js');
const { ownIdentity } = await product('agent/processes/process-identity.js');
const { EpochOver } = await product('agent/wire/epochs.js');
const { AgentApi } = await product('agent/wire/agent-api.js');
const { GuardedAgent, startServer } = await product('agent/server/server.js');
const { HttpErrorException, serve } = await import('rest-contract');
const { nodeListener } = await import('rest-contract/node');

const [dataDir, count] = process.argv.slice(2);
const agentId = 'local';
const maxUpdatesPerAnswer = 500;
const folder = await AgentDirectory.open(join(dataDir, 'agent'));
const incarnation = await folder.createIncarnation();
const machines = Array.from({ length: Number(count) }, (_, index) => ({
  slaveId: `machine-id-${index + 1}`,
  agentId,
  incarnation,
  hostname: `machine${index + 1}`,
  rackId: `rack${1 + (index % 2)}`,
  attributes: {},
  cpus: 16,
  memoryMb: 32_000,
  diskMb: 200_000,
  portRanges: [{ begin: 31_000, end: 32_999 }],
  portsInUse: [],
}));

const tasks = new Map();
const updates = [];
let held;
let lastNumber = 0;
let highestEpoch = 0;
let seen;
clear();
/** Wakes the question for updates that waits. */
let wake = () => undefined;

function clear() {
  seen = { launchTimes: [], kills: 0, reported: 0, acknowledged: 0, acknowledgedAt: 0 };
}

function report(task, state) {
  if (held) return void held.push([task, state]);
  task.state = state;
  const isEnd = !['TASK_STARTING', 'TASK_RUNNING'].includes(state);
  if (isEnd) tasks.delete(task.taskId);
  seen.reported += 1;
  const { taskId, slaveId, directory } = task;
  const update = {
    agentId,
    incarnation,
    number: ++lastNumber,
    taskId,
    slaveId,
    state,
    timestamp: Date.now(),
    directory,
  };
  updates.push(update);
  wake();
  if (state === 'TASK_RUNNING' && task.endsAtOnce) report(task, 'TASK_FINISHED');
}

function release() {
  const [waiting, at] = [held ?? [], Date.now()];
  held = undefined;
  for (const [task, state] of waiting) report(task, state);
  return at;
}

function endTasks(upTo) {
  // An id ends with the number of the instance, the host and the rack.
  const running = [...tasks.values()].filter(({ taskId }) => Number(taskId.split('-').at(-3)) <= upTo);
  for (const task of running) report(task, 'TASK_FINISHED');
}

function launch({ taskId, slaveId, command, cpus, memoryMb }) {
  let task = tasks.get(taskId);
  if (!task) {
    const endsAtOnce = command.value === 'true';
    const directory = `/tasks/${taskId}`;
    task = { taskId, slaveId, directory, endsAtOnce, cpus, memoryMb, state: 'TASK_STAGING', startedAt: Date.now() };
    tasks.set(taskId, task);
    seen.launchTimes.push(task.startedAt);
    for (const state of ['TASK_STARTING', 'TASK_RUNNING']) report(task, state);
  }
  return { taskId, outcome: 'ACCEPTED', state: task.state, directory: task.directory };
}

function kill(taskId) {
  const task = tasks.get(taskId);
  if (!task) return 'GONE';
  if (!task.isKilled) {
    task.isKilled = true;
    seen.kills += 1;
    report(task, 'TASK_KILLED');
  }
  return 'KILLING';
}

async function pull(after, waitMillis, signal) {
  const stored = updates.findIndex(({ number }) => number > after);
  const forgotten = updates.splice(0, stored < 0 ? updates.length : stored).length;
  if (forgotten > 0) {
    seen.acknowledged += forgotten;
    seen.acknowledgedAt = Date.now();
  }
  if (updates.length === 0) {
    await new Promise((resolve) => {
      const late = setTimeout(resolve, waitMillis);
      wake = () => {
        clearTimeout(late);
        resolve();
      };
      signal.addEventListener('abort', wake);
    });
  }
  return { incarnation, updates: updates.slice(0, maxUpdatesPerAnswer), machinesVersion: 1 };
}

function statisticsOf({ taskId, cpus, memoryMb, startedAt }) {
  const seconds = (Date.now() - startedAt) / 1_000;
  const memory = memoryMb * 2 ** 20;
  return {
    taskId,
    cpusLimit: cpus,
    cpusNrPeriods: 0,
    cpusNrThrottled: 0,
    cpusSystemTimeSecs: seconds * 0.05,
    cpusThrottledTimeSecs: 0,
    cpusUserTimeSecs: seconds * 0.1,
    memAnonBytes: memory / 4,
    memFileBytes: 0,
    memLimitBytes: memory,
    memMappedFileBytes: 0,
    memRssBytes: memory / 2,
    memTotalBytes: memory / 2,
    diskLimitBytes: 0,
    diskUsedBytes: 0,
    timestamp: Date.now() / 1_000,
  };
}

function usageOf(slaveId) {
  const running = [...tasks.values()].filter((task) => task.slaveId === slaveId);
  return {
    slaveId,
    timestamp: Date.now(),
    memTotalBytes: 32_000 * 2 ** 20,
    memFreeBytes: 16_000 * 2 ** 20,
    cpus: 16,
    load1Min: 0.5,
    load5Min: 0.5,
    load15Min: 0.5,
    diskUsedBytes: 0,
    diskTotalBytes: 200_000 * 2 ** 20,
    tasks: running.map(statisticsOf),
  };
}

function orNotFound(value) {
  if (value === undefined) throw new HttpErrorException(404, 'Not found');
  return value;
}

const leader = {
  hello: async () => ({ agentId, incarnation }),
  tasks: async () => ({
    agentId,
    incarnation,
    asOfUpdate: lastNumber,
    acknowledged: lastNumber - updates.length,
    tasks: [...tasks.values()].map(({ taskId, state }) => ({ taskId, state })),
  }),
  launch: async ({ launches }) => launches.map(launch),
  kill: async ({ taskId }) => kill(taskId),
  runCommand: async () => 'GONE',
  updates: ({ after, waitMillis }, { signal }) => pull(after, waitMillis, signal),
};
const noSandbox = async () => orNotFound(undefined);
const agent = {
  leader: async ({ epoch }) => {
    if (epoch < highestEpoch) throw new EpochOver(epoch, highestEpoch);
    highestEpoch = epoch;
    return leader;
  },
  machines: async () => ({ machines: machines.map((each) => ({ ...each, seenAt: Date.now() })), machinesVersion: 1 }),
  usage: async ({ slaveId }) => usageOf(slaveId),
  task: ({ taskId }) => ({
    statistics: async () => statisticsOf(orNotFound(tasks.get(taskId))),
    sandbox: () => ({ root: noSandbox, list: noSandbox, read: noSandbox, download: noSandbox }),
  }),
  refusedUser: async () => ({}),
  shutdown: async () => undefined,
};

const guarded = new GuardedAgent(await sharedSecret(folder.root), agent);
const onError = (error, { operation }) => console.error(`${operation} failed`, error);
const server = createServer(nodeListener(serve(AgentApi, guarded, { onError })));
const port = await startServer(server, { host: '127.0.0.1', port: 0 });
await folder.publish({ ...ownIdentity(), host: '127.0.0.1', port, agentId, incarnation });

const asked = {
  figures: () => {
    const { launchTimes, ...rest } = seen;
    return { ...rest, tasks: tasks.size, launches: launchTimes.length };
  },
  launches: () => seen.launchTimes,
  clear,
  hold: () => void (held ??= []),
  release,
  end: (parameters) => endTasks(Number(parameters.get('upTo'))),
};
const control = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const answer = asked[pathname.slice(1)](searchParams) ?? null;
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
});
control.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ control: control.address().port })));
