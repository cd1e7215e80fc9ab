// Tasks that only wait, on one agent: its memory, the processor it takes, and how long it takes to start and to end them all.
// As root each task has a user of its own. Options: --tasks N (1000), --seconds N (20), --executor (tasks with executorData).
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    executor: { type: 'boolean', default: false },
  },
});
const count = Number(values.tasks);
const seconds = Number(values.seconds);
const built = (path) => new URL(`../../dist/src/${path}`, import.meta.url);
const { LocalDriver } = await import(built('cluster/local/local-driver.js'));
const { readEndpoint } = await import(built('agent/state/agent-directory.js'));
const program = fileURLToPath(built('agent/main.js'));
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const batchSize = 100;
const killedAtOnce = 20;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const round = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;

/** Figures of the kernel about a process: memory in MB, seconds of processor, threads, open files. */
function figuresOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return {
    rssMb: field('VmRSS') / 1024,
    peakMb: field('VmHWM') / 1024,
    cpuSeconds: (Number(stat[11]) + Number(stat[12])) / ticksPerSecond,
    threads: field('Threads'),
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
  };
}

const dataDir = mkdtempSync(join(tmpdir(), 'mu-'));
chmodSync(dataDir, 0o755);
const config = join(dataDir, 'settings.json');
const slave = {
  id: 's1',
  hostname: 'localhost',
  cpus: 100_000,
  memoryMb: 100_000_000,
  diskMb: 0,
  ports: '31000-31999',
};
writeFileSync(config, JSON.stringify({ slaves: [slave], rackIdAttributeKey: 'rackid', defaultRackId: 'DEFAULT' }));
const child = spawn(process.execPath, [program, '--data-dir', dataDir, '--config', config], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = new Promise((resolve) => child.once('exit', resolve));
await new Promise((resolve, reject) => {
  createInterface(child.stdout).on('line', (line) => line.includes(' listens on ') && resolve());
  child.once('exit', () => reject(new Error('The agent does not start')));
});

const states = new Map();
const quiet = { info() {}, warn: console.error, error: console.error };
const driver = new LocalDriver({ now: Date.now, agentFolder: join(dataDir, 'agent'), log: quiet });
const events = {
  machines: () => Promise.resolve(),
  machineDown: () => Promise.resolve(),
  outranked: () => Promise.resolve(),
  statusUpdates: async (updates) => {
    for (const { taskId, state } of updates) states.set(taskId, state);
  },
};
const inState = (wanted) => [...states.values()].filter((state) => state === wanted).length;
async function until(what, holds) {
  for (const deadline = Date.now() + 600_000; !holds(); await pause(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}`);
}

try {
  await driver.start(1, events, async () => undefined);
  const { incarnation } = await readEndpoint(join(dataDir, 'agent'));
  const { pid } = child;
  await pause(1_000);
  const empty = figuresOf(pid);

  const command = { shell: !values.executor, value: 'exec sleep 100000', arguments: [] };
  const managed = { ...command, shell: true, value: 'sleep 100000' };
  const specs = Array.from({ length: count }, (_, index) => ({
    taskId: `bench-v1-${Date.now()}-${index + 1}-host-rack`,
    slaveId: 's1',
    incarnation,
    requestId: 'bench',
    command: values.executor ? managed : command,
    environment: { TASK_ID: String(index) },
    cpus: 0.01,
    memoryMb: 16,
    diskMb: 0,
    ports: [],
    artifacts: [],
    executorData: values.executor ? { cmd: 'sleep 100000' } : undefined,
    successfulExitCodes: [],
    killGraceMillis: 10_000,
  }));
  const begun = performance.now();
  for (let at = 0; at < count; at += batchSize) {
    const answers = await driver.launch(specs.slice(at, at + batchSize), 1);
    const refused = answers.find(({ outcome }) => outcome !== 'ACCEPTED');
    if (refused) throw new Error(JSON.stringify(refused));
  }
  await until('all tasks to run', () => inState('TASK_RUNNING') === count);
  const startSeconds = (performance.now() - begun) / 1_000;
  const started = figuresOf(pid);

  await pause(3_000);
  const before = figuresOf(pid);
  await pause(seconds * 1_000);
  const resting = figuresOf(pid);

  const killedAt = performance.now();
  for (let at = 0; at < count; at += killedAtOnce)
    await Promise.all(specs.slice(at, at + killedAtOnce).map(({ taskId }) => driver.kill(taskId, 's1', 10_000, 1)));
  await until('the end of all tasks', () => inState('TASK_KILLED') === count);
  const endSeconds = (performance.now() - killedAt) / 1_000;
  await pause(2_000);
  const after = figuresOf(pid);

  const row = ({ rssMb, threads, openFiles }) => ({ 'memory MB': round(rssMb), threads, 'open files': openFiles });
  const percentOf = (from, to, inSeconds) => round(((to.cpuSeconds - from.cpuSeconds) / inSeconds) * 100);
  const perTaskKb = round(((resting.rssMb - empty.rssMb) / count) * 1_024);
  console.log(`${count} tasks ${values.executor ? 'with executorData' : 'of a plain command'} on one agent`);
  console.table({
    'no task': row(empty),
    'all just started': {
      ...row(started),
      'cpu %': percentOf(empty, started, startSeconds),
      seconds: round(startSeconds),
    },
    'all running': { ...row(resting), 'cpu %': percentOf(before, resting, seconds), seconds },
    'all ended': { ...row(after), 'cpu %': percentOf(resting, after, endSeconds + 2), seconds: round(endSeconds) },
  });
  console.log(`memory per running task: ${perTaskKb} KB; most memory: ${round(after.peakMb)} MB`);
  console.log(
    JSON.stringify({
      bench: 'agent',
      tasks: count,
      executorData: values.executor,
      memoryMb: {
        empty: round(empty.rssMb),
        running: round(resting.rssMb),
        ended: round(after.rssMb),
        peak: round(after.peakMb),
      },
      perTaskKb,
      cpuPercentRunning: percentOf(before, resting, seconds),
      startSeconds: round(startSeconds, 2),
      endSeconds: round(endSeconds, 2),
      machine: {
        cpus: cpus().length,
        model: cpus()[0]?.model,
        memoryGb: Math.round(totalmem() / 2 ** 30),
        node: process.version,
      },
    }),
  );
} finally {
  await driver.stop();
  child.kill('SIGTERM');
  await exited;
  rmSync(dataDir, { recursive: true, force: true });
}
