// How long commands of `muster` take from a cold start, and what `muster run` adds to the calls that it makes.
// The reference in the same run: Node itself with an empty program, and the same calls by curl-like node:http in a warm process.
// Each begins when the runs before it have ended, which the machine would have to start and to record meanwhile.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const runs = Number(process.argv[2] ?? 20);
const muster = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));
const dataDir = mkdtempSync(join(tmpdir(), 'mu-'));
chmodSync(dataDir, 0o755);
const env = { ...process.env, DATABASE_URL: '', MUSTER_PORT: '0', MUSTER_DATA_DIR: dataDir, MUSTER_URL: '' };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function run(args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'], ...options });
    let out = '';
    child.stdout.on('data', (text) => (out += text));
    child.stdin.end(options.input ?? '');
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${args.join(' ')} ended with ${code}`)),
    );
  });
}

const agent = new Agent({ keepAlive: true });
function call(method, url, body) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    request(url, { method, headers, agent }, (answer) => {
      let all = '';
      answer.on('data', (piece) => (all += piece));
      answer.on('end', () => resolve(JSON.parse(all)));
    })
      .once('error', reject)
      .end(text);
  });
}

async function timed(work) {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const round = (ms) => `${String(Math.round(ms)).padStart(3)} ms`;
const bound = (ms) => `${Math.round(ms)} more, bound: 150 ms`;

const server = spawn(process.execPath, [muster, 'start'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
try {
  let told = '';
  server.stdout.on('data', (text) => (told += text));
  while (!told.includes('Leads in')) await pause(50);
  const api = /API {9}(\S+)/.exec(told)[1];
  const deploy = { requestId: 'job', command: 'true', shell: true, resources: { cpus: 0.1, memoryMb: 16 } };
  await run([muster, 'apply', '-f', '-', '--wait'], {
    input: `${JSON.stringify({ id: 'job', requestType: 'ON_DEMAND' })}\n---\n${JSON.stringify({ deploy })}\n`,
  });
  const times = { node: [], help: [], ps: [], call: [], detached: [], whole: [], waited: [] };
  const post = (runId) => call('POST', `${api}/requests/request/job/run?minimal=true`, { runId });
  const quiet = async () => {
    while ((await call('GET', `${api}/history/request/job/tasks/active`)).length > 0) await pause(20);
    await pause(100);
  };
  for (let number = 0; number < runs; number++) {
    times.node.push(await timed(() => run(['-e', '0'])));
    times.help.push(await timed(() => run([muster, 'ps', '--help'])));
    times.ps.push(await timed(() => run([muster, 'ps'])));
    times.call.push(await timed(() => post(`a${number}`)));
    await quiet();
    times.detached.push(await timed(() => run([muster, 'run', 'job', '--detach'])));
    await quiet();
    times.whole.push(
      await timed(async () => {
        await post(`b${number}`);
        for (;;) {
          const { currentState } = await call('GET', `${api}/track/run/job/b${number}`);
          if (currentState === 'TASK_FINISHED') return;
          await pause(5);
        }
      }),
    );
    await quiet();
    times.waited.push(await timed(() => run([muster, 'run', 'job'])));
    await quiet();
  }
  const of = Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
  console.log(`Medians of ${runs}:`);
  console.log(`  node -e 0                          ${round(of.node)}`);
  console.log(`  muster ps --help                   ${round(of.help)}   (bound: 150 ms on an idle machine)`);
  console.log(
    `  muster ps                          ${round(of.ps)}   (${(of.ps / of.node).toFixed(2)} times Node alone)`,
  );
  console.log(`  the call that runs a job           ${round(of.call)}`);
  console.log(`  muster run --detach                ${round(of.detached)}   (${bound(of.detached - of.call)})`);
  console.log(`  the call, until the task has ended ${round(of.whole)}`);
  console.log(`  muster run                         ${round(of.waited)}   (${bound(of.waited - of.whole)})`);
} finally {
  agent.destroy();
  server.kill('SIGTERM');
  await new Promise((resolve) => server.once('close', resolve));
  rmSync(dataDir, { recursive: true, force: true });
}
