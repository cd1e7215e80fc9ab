// From the call that runs an on-demand job to the first instruction of its process, on an idle machine.
// The reference in the same run: the same command started by child_process directly.
// As root each task has a user of its own; `--user agent` measures tasks of the agent's user as well, to compare. `--steps` tells
// what of it passes where: by the id of the task and the times of the files that its start leaves.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { user: { type: 'string' }, steps: { type: 'boolean' } },
});
const runs = Number(positionals[0] ?? 200);
const muster = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));
// %N is nanoseconds: the shell's first act is to write down when it began.
const command = 'date +%s%N > "$STAMP"';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowMs = () => performance.timeOrigin + performance.now();

async function stampOf(file) {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await pause(2)) {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.endsWith('\n')) return Number(BigInt(text.trim()) / 1000n) / 1000;
    } catch {
      // not yet
    }
  }
  throw new Error(`No process wrote ${file}`);
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const percentile = (values, p) => values[Math.min(values.length - 1, Math.ceil((p / 100) * values.length) - 1)];
const summary = (values) => {
  const all = sorted(values);
  const round = (ms) => Math.round(ms * 10) / 10;
  return {
    p50: round(percentile(all, 50)),
    p90: round(percentile(all, 90)),
    p99: round(percentile(all, 99)),
    max: round(all.at(-1)),
  };
};

const seen = new Set();

/** Milliseconds of each step of the newest task, between what its id and its control files say. */
function stepsOf(dataDir, asked, begun) {
  const folders = ['tasks', 'ended'].map((name) => join(dataDir, 'agent', name));
  const isNew = ([, name]) => name.startsWith('bench-v1-') && !seen.has(name);
  const [folder, name] = folders.flatMap((one) => readdirSync(one).map((task) => [one, task])).find(isNew);
  seen.add(name);
  const at = (file) => statSync(join(folder, name, file)).mtimeMs;
  const decided = Number(name.split('-')[2]);
  const { acceptedAt } = JSON.parse(readFileSync(join(folder, name, 'spec.json'), 'utf8'));
  return {
    'the call, its commit, the decision': decided - asked,
    'the commit of the placement, the call of the agent': acceptedAt - decided,
    'the record of the agent on the disk, sandbox, cgroups': at('launcher') - acceptedAt,
    'the shim, its move into the cgroups': at('task.new') - at('launcher'),
    'user, variables, shell, first instruction': begun - at('task.new'),
  };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A product of its own. */
async function measure(tasksRunAs) {
  const dataDir = mkdtempSync(join(tmpdir(), 'mu-'));
  chmodSync(dataDir, 0o755);
  // Written to by the tasks, whichever user they have.
  const stamps = join(dataDir, 'stamps');
  mkdirSync(stamps);
  chmodSync(stamps, 0o777);
  const config = join(dataDir, 'settings.json');
  writeFileSync(config, JSON.stringify({ cluster: { local: { tasksRunAs } } }));
  const port = await freePort();
  const product = spawn(process.execPath, [muster, 'start'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      MUSTER_PORT: String(port),
      MUSTER_DATA_DIR: dataDir,
      MUSTER_CONFIG: config,
    },
  });
  let printed = '';
  product.stdout.on('data', (text) => (printed += text));
  const ended = new Promise((resolve) => product.on('exit', resolve));

  const call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };

  try {
    for (const deadline = Date.now() + 60_000; ; await pause(100)) {
      const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (ready?.ok) break;
      if (Date.now() > deadline) throw new Error(`Not ready:\n${printed}`);
    }
    await call('POST', 'requests', { id: 'bench', requestType: 'ON_DEMAND' });
    await call('POST', 'deploys', {
      deploy: { requestId: 'bench', id: 'v1', command, resources: { cpus: 0.1, memoryMb: 16 } },
    });

    const muster = [];
    const answers = [];
    const direct = [];
    const steps = {};
    for (let n = 0; n < runs + 10; n++) {
      const warmingUp = n < 10;
      const file = join(stamps, String(n));
      const asked = nowMs();
      await call('POST', 'requests/request/bench/run?minimal=true', {
        runId: `run-${n}`,
        envOverrides: { STAMP: file },
      });
      const answered = nowMs();
      const started = await stampOf(file);
      await pause(100); // idle again: what ended is recorded
      const passed = values.steps ? stepsOf(dataDir, asked, started) : {};

      const spawnedAt = nowMs();
      spawn('sh', ['-c', command], { env: { PATH: process.env.PATH, STAMP: `${file}-direct` } });
      const spawned = await stampOf(`${file}-direct`);
      if (warmingUp) continue;
      muster.push(started - asked);
      answers.push(answered - asked);
      direct.push(spawned - spawnedAt);
      for (const [step, millis] of Object.entries(passed)) (steps[step] ??= []).push(millis);
    }

    return {
      runNowToStarted: summary(muster),
      runNowToAnswer: summary(answers),
      reference: summary(direct),
      steps: Object.fromEntries(Object.entries(steps).map(([step, millis]) => [step, summary(millis)])),
    };
  } finally {
    product.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const figures = await measure('OWN_USER');
const asAgent = values.user === 'agent' ? await measure('AGENT') : undefined;
console.log(`${runs} runs, milliseconds`);
console.table({
  'run-now call to process started': figures.runNowToStarted,
  ...(asAgent && { "the same, as the agent's user": asAgent.runNowToStarted }),
  'run-now call to its answer': figures.runNowToAnswer,
  'reference: child_process.spawn to process started': figures.reference,
});
if (values.steps) console.table(figures.steps);
const machine = {
  cpus: cpus().length,
  model: cpus()[0]?.model,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
};
console.log(JSON.stringify({ bench: 'latency', runs, unit: 'ms', ...figures, asAgent, machine }));
