import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, expect, test } from 'vitest';
import { rotateProgram } from '../support/agent-programs.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/* A log that is to be rotated while its disk is full: it stays as it is, its task goes on, and it is rotated when there is room. */

const disk = tempFolder();
const beside = tempFolder();
let cluster: AgentCluster;
let clock = Date.UTC(2026, 0, 1, 12, 0, 30);
const page = 4096;
const diskBytes = 48 << 20;
let canMount = false;
try {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=755`, 'muster-test', disk.path], {
    stdio: 'ignore',
  });
  canMount = true;
} catch {
  console.log('Nothing can be mounted here: rotation on a full disk is not tested');
}

const attempts = join(beside.path, 'attempts');
const counting = join(beside.path, 'rotate.mjs');
chmodSync(beside.path, 0o777);
// Tells each attempt, as whatever user it is by then.
writeFileSync(
  counting,
  `import { appendFileSync } from 'node:fs';\nappendFileSync('${attempts}', 'x');\nawait import('${pathToFileURL(rotateProgram[0]!).href}');\n`,
);
const attemptsSoFar = () => (existsSync(attempts) ? readFileSync(attempts).length : 0);

afterEach(async () => {
  await cluster.close();
  rmSync(attempts, { force: true });
  rmSync(filler, { force: true });
});
afterAll(() => {
  if (canMount) execFileSync('umount', ['-l', disk.path]);
  for (const folder of [disk, beside]) folder.remove();
});

const filler = join(disk.path, 'filler');
const free = () => {
  const { bavail, bsize } = statfsSync(disk.path);
  return bavail * bsize;
};
/** Leaves so much of the disk. */
function fill(left: number): void {
  rmSync(filler, { force: true });
  const bytes = free() - left;
  if (bytes > 0) writeFileSync(filler, Buffer.alloc(bytes));
}

/** Writes numbered lines: as many as a file says, each whole, however often the disk is full. Says in another how many it has. */
const writer = `
const { readFileSync, writeSync, writeFileSync, renameSync } = require('node:fs');
const { createHash } = require('node:crypto');
const [wanted, written] = ['${beside.path}/wanted', '${beside.path}/written'];
const pause = new Int32Array(new SharedArrayBuffer(4));
let n = 0;
const write = (bytes) => {
  for (let at = 0; at < bytes.length;) {
    try { at += writeSync(1, bytes, at); } catch (cause) {
      if (cause.code !== 'ENOSPC') throw cause;
      Atomics.wait(pause, 0, 0, 5);
    }
  }
};
for (;;) {
  let most = 0;
  try { most = Number(readFileSync(wanted, 'utf8')); } catch {}
  if (n >= most) { Atomics.wait(pause, 0, 0, 5); continue; }
  n++;
  write(Buffer.from(String(n).padStart(9, '0') + ' ' + createHash('sha256').update(String(n)).digest('hex') + '\\n'));
  if (n === most) { writeFileSync(written + '.new', String(n)); renameSync(written + '.new', written); }
}
`;
const area = (spec: LaunchSpec, ...path: string[]) => cluster.sandbox(spec, spec.taskId, ...path);
const results = (spec: LaunchSpec) =>
  readdirSync(area(spec, 'logs'))
    .filter((name) => !name.startsWith('.'))
    .toSorted();
const everything = (spec: LaunchSpec): string =>
  [...results(spec).map((name) => area(spec, 'logs', name)), area(spec, 'service.log')]
    .filter(existsSync)
    .map((path) => readFileSync(path))
    .map((bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString())
    .join('');
/**
 * The first fault: a line that does not follow the one before, or a wrong number of lines; undefined: there is none.
 */
function fault(spec: LaunchSpec, count: number): string | undefined {
  const lines = everything(spec).split('\n');
  const wrong = lines.slice(0, -1).findIndex((line, index) => Number(line.slice(0, 9)) !== index + 1);
  if (wrong >= 0) return `line ${wrong + 1} is '${lines[wrong]}'`;
  return lines.length - 1 === count ? undefined : `${lines.length - 1} lines, not ${count}`;
}
const write = (count: number) => {
  const path = join(beside.path, 'wanted');
  writeFileSync(path, String(count));
};
const written = (count: number) =>
  waitFor(`${count} lines`, () => readFileSync(join(beside.path, 'written'), 'utf8') === String(count), {
    everyMillis: 5,
  });
const said = (text: string) => cluster.log.lines.filter((line) => line.includes(text));

async function launch(): Promise<LaunchSpec> {
  for (const name of ['wanted', 'written']) rmSync(join(beside.path, name), { force: true });
  cluster = await AgentCluster.start({
    directory: join(disk.path, 'agent'),
    settings: { logrotateFrequency: 'HOURLY', reservedDiskMb: 0 },
    now: () => clock,
    rotateProgram: [counting],
  });
  const cmd = `${process.execPath} -e '${writer.replaceAll("'", `'\\''`)}'`;
  const spec = await cluster.launch('', { executorData: { cmd }, command: { shell: true, value: cmd, arguments: [] } });
  await cluster.untilState(spec, 'TASK_RUNNING');
  return spec;
}
async function attempt(millis: number): Promise<void> {
  const before = attemptsSoFar();
  clock += millis;
  await waitFor(`an attempt (${cluster.log.lines.join('\n')})`, () => attemptsSoFar() > before);
  await waitFor('its end', () => !isRotating());
}
/** True if the program still runs. */
const isRotating = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(counting);
      } catch {
        return false;
      }
    });
const hour = 3_600_000;

test.runIf(canMount)(
  'a log on a full disk is rotated when there is room again: it is said once, and no line is lost',
  { timeout: 120_000 },
  async () => {
    const spec = await launch();
    fill(8 << 20);
    write(200_000);
    // Its log takes what is left, and it waits.
    await waitFor('a full disk', () => free() < page, { timeoutMillis: 60_000 });
    await attempt(hour);
    await waitFor('the complaint', () => said('could not rotate logs: the disk is full').length === 1);
    // Twice as long each time, from when the last one failed.
    for (const seconds of [30, 60, 120]) await attempt(seconds * 1_000);
    rmSync(filler);
    await written(200_000);
    await attempt(240_000);
    await waitFor('the rotation', () => said('its logs are rotated again').length === 1);
    expect(said('could not rotate logs').length).toBe(1);
    expect(fault(spec, 200_000)).toBeUndefined();
    expect(results(spec).length).toBeGreaterThan(0);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
    await waitFor('the compression', () => results(spec).every((name) => name.endsWith('.gz')));
    expect(fault(spec, 200_000)).toBeUndefined();
  },
);

/** Takes all room that comes free, as soon as the log is empty. */
const greedy = `
const { fstatSync, openSync, writeSync } = require('node:fs');
const log = openSync(process.argv[1], 'r');
const target = openSync(process.argv[2], 'a');
const bytes = Buffer.alloc(1 << 20);
console.log('ready');
for (;;) {
  if (fstatSync(log).size > 0) continue;
  try { writeSync(target, bytes); } catch {}
}
`;

test.runIf(canMount).each([{ lines: 200 }, { lines: 70_000 }])(
  'at whatever moment of a rotation of $lines lines the disk is full, no line is lost',
  { timeout: 240_000 },
  async ({ lines }) => {
    const spec = await launch();
    let count = 0;
    let isRotated = false;
    for (let left = 0; !isRotated; left = lines < 1_000 || left < 8 * page ? left + page : left * 1.5) {
      fill(diskBytes);
      if (statSync(area(spec, 'service.log')).size === 0) write((count += lines));
      await written(count);
      fill(left);
      const taker = spawn(process.execPath, ['-e', greedy, area(spec, 'service.log'), filler], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(taker.stdout, 'data');
      await attempt(hour);
      taker.kill('SIGKILL');
      await once(taker, 'exit');
      await waitFor('what was stopped to go on', () => fault(spec, count) === undefined).catch(() => undefined);
      expect(fault(spec, count), `with ${left} bytes left`).toBeUndefined();
      isRotated = results(spec).some((name) => name.endsWith('.gz')) && left > 8 * page;
    }
    fill(diskBytes);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(fault(spec, count)).toBeUndefined();
  },
);
