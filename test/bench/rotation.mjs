// A service that writes as fast as it can, with its log rotated and without; and what the machine gives for each step alone:
// writing to a file, copying one, compressing one. Options: --seconds N (15), --log-mb N (64: a longer log is rotated),
// --rate N (MB/s that the service keeps to; default: none).
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  createReadStream,
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { constants, createGunzip, createGzip } from 'node:zlib';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '15' },
    'log-mb': { type: 'string', default: '64' },
    rate: { type: 'string', default: '0' },
  },
});
const seconds = Number(values.seconds);
const logMb = Number(values['log-mb']);
const rate = Number(values.rate);
const built = (path) => new URL(`../../dist/src/${path}`, import.meta.url);
const { LocalDriver } = await import(built('cluster/local/local-driver.js'));
const { readEndpoint } = await import(built('agent/state/agent-directory.js'));
const program = fileURLToPath(built('agent/main.js'));
const megabyte = 1024 * 1024;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const round = (value, digits = 1) => Math.round(value * 10 ** digits) / 10 ** digits;

/** With its number and a space in front a line of 100 bytes; half of it compresses badly. */
function filler() {
  return randomBytes(33).toString('base64') + 'x'.repeat(44) + '\n';
}

/**
 * Numbered lines of 100 bytes until there is a file "stop"; then how many bytes it
 * wrote, in how long, and the longest time that one write of 100 KB took.
 */
const writer = `
const { existsSync, writeFileSync, renameSync, writeSync } = require('node:fs');
const { randomBytes } = require('node:crypto');
const filler = ${filler};
const fillers = Array.from({ length: 64 }, filler);
const rest = new Int32Array(new SharedArrayBuffer(4));
let n = 0, bytes = 0, longest = 0;
const begun = performance.now();
for (let turn = 0; turn % 20 || !existsSync('stop'); turn++) {
  let text = '';
  for (let i = 0; i < 1000; i++) text += String(++n).padStart(10, '0') + ' ' + fillers[n % 64];
  const chunk = Buffer.from(text);
  const at = performance.now();
  for (let done = 0; done < chunk.length;) done += writeSync(1, chunk, done);
  bytes += chunk.length;
  longest = Math.max(longest, performance.now() - at);
  const ahead = ${rate} ? bytes / ${rate * megabyte} * 1000 - (performance.now() - begun) : 0;
  if (ahead > 1) Atomics.wait(rest, 0, 0, ahead);
}
writeFileSync('written.new', JSON.stringify({ bytes, seconds: (performance.now() - begun) / 1000, longest, lines: n }));
renameSync('written.new', 'written');
setInterval(() => undefined, 1000);
`;

const dataDir = mkdtempSync(join(tmpdir(), 'mu-'));
chmodSync(dataDir, 0o755);

/** Runs it on an agent of its own with these settings. */
async function service(settings) {
  const root = mkdtempSync(join(dataDir, 'agent-'));
  chmodSync(root, 0o755);
  const slave = { id: 's1', hostname: 'localhost', cpus: 100, memoryMb: 1_000_000, diskMb: 0, ports: '31000-31999' };
  const config = join(root, 'settings.json');
  writeFileSync(
    config,
    JSON.stringify({ slaves: [slave], logrotateFrequency: 'MONTHLY', logrotateCount: 1000, ...settings }),
  );
  const child = spawn(process.execPath, [program, '--data-dir', root, '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await new Promise((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => line.includes(' listens on ') && resolve());
    child.once('exit', () => reject(new Error('The agent does not start')));
  });
  const folder = join(root, 'agent');
  const states = new Set();
  const driver = new LocalDriver({
    now: Date.now,
    agentFolder: folder,
    log: { info() {}, warn: console.error, error: console.error },
  });
  const nothing = () => Promise.resolve();
  await driver.start(
    1,
    {
      machines: nothing,
      machineDown: nothing,
      outranked: nothing,
      statusUpdates: async (updates) => updates.forEach(({ state }) => states.add(state)),
    },
    async () => undefined,
  );
  try {
    const { incarnation } = await readEndpoint(folder);
    const cmd = `${process.execPath} -e '${writer.replaceAll("'", `'\\''`)}'`;
    const spec = {
      taskId: `bench-v1-${Date.now()}-1-host-rack`,
      slaveId: 's1',
      incarnation,
      requestId: 'bench',
      command: { shell: true, value: cmd, arguments: [] },
      environment: {},
      cpus: 2,
      memoryMb: 512,
      diskMb: 0,
      ports: [],
      artifacts: [],
      executorData: { cmd },
      successfulExitCodes: [],
      killGraceMillis: 10_000,
    };
    const [answer] = await driver.launch([spec], 1);
    if (answer.outcome !== 'ACCEPTED') throw new Error(JSON.stringify(answer));
    const area = join(answer.directory, spec.taskId);
    while (!states.has('TASK_RUNNING')) await pause(20);
    await pause(seconds * 1_000);
    writeFileSync(join(area, 'app', 'stop'), '');
    let written;
    while (!written) {
      await pause(20);
      try {
        written = JSON.parse(readFileSync(join(area, 'app', 'written'), 'utf8'));
      } catch {
        // Not yet.
      }
    }
    const results = readdirSync(join(area, 'logs')).filter((name) => name.endsWith('.gz'));
    await driver.kill(spec.taskId, 's1', 0, 1);
    while (!states.has('TASK_KILLED')) await pause(20);
    const hidden = (name) => name.startsWith('.') || !name.endsWith('.gz');
    while (readdirSync(join(area, 'logs')).some(hidden)) await pause(50);
    const kept = await linesIn(join(area, 'logs'));
    return { ...written, rotations: results.length, lost: written.lines - kept };
  } finally {
    await driver.stop();
    child.kill('SIGTERM');
    await exited;
    rmSync(root, { recursive: true, force: true });
  }
}

async function linesIn(folder) {
  let bytes = 0;
  for (const name of readdirSync(folder))
    await pipeline(createReadStream(join(folder, name)), createGunzip(), async (chunks) => {
      for await (const chunk of chunks) bytes += chunk.length;
    });
  return bytes / 100;
}

/** MB/s of each step alone, on a log of the same text. */
async function machine() {
  const path = join(dataDir, 'log');
  const size = 256;
  const lines = Array.from(
    { length: Math.ceil(megabyte / 100) },
    (_, n) => String(n).padStart(10, '0') + ' ' + filler(),
  );
  const chunk = Buffer.from(lines.join('')).subarray(0, megabyte);
  const timed = async (work) => {
    const begun = performance.now();
    await work();
    return round(size / ((performance.now() - begun) / 1_000));
  };
  const write = await timed(() => {
    const file = openSync(path, 'w');
    for (let at = 0; at < size; at++) writeSync(file, chunk);
    closeSync(file);
  });
  const copy = await timed(() => copyFile(path, `${path}.copy`));
  const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const gzip = await timed(() =>
    pipeline(
      createReadStream(path, { highWaterMark: 256 * 1024 }),
      createGzip({ level: constants.Z_BEST_SPEED }),
      nowhere(),
    ),
  );
  if (statSync(path).size !== size * megabyte) throw new Error('It was not written');
  return { write, copy, gzip };
}

try {
  const alone = await machine();
  const without = await service({});
  const rotated = await service({ maxServiceLogSizeMb: logMb, checkLogSizesEveryMillis: 100 });
  const row = ({ bytes, seconds: took, longest, rotations, lost }) => ({
    'MB/s': round(bytes / megabyte / took),
    rotations,
    'longest write ms': round(longest),
    'lines lost': lost,
  });
  console.log(`The machine alone, MB/s: writing ${alone.write}, copying ${alone.copy}, compressing ${alone.gzip}`);
  console.log(
    `A service that writes ${rate ? `${rate} MB/s` : 'as fast as it can'} for ${seconds} s, rotated beyond ${logMb} MB`,
  );
  console.table({ 'without rotation': row(without), 'with rotation': row(rotated) });
  console.log(
    JSON.stringify({
      bench: 'rotation',
      rate,
      logMb,
      alone,
      without: row(without),
      rotated: row(rotated),
      machine: {
        cpus: cpus().length,
        model: cpus()[0]?.model,
        memoryGb: Math.round(totalmem() / 2 ** 30),
        node: process.version,
      },
    }),
  );
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
