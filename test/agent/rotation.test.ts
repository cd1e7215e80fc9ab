import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const minute = 60_000;
const day = (time: number) => new Date(time).toISOString().slice(0, 10).replaceAll('-', '');
let cluster: AgentCluster;
let clock = Date.UTC(2026, 0, 1, 12, 0, 30);
afterEach(() => cluster.close());

const start = (settings: object = {}) =>
  AgentCluster.start({
    settings: { logrotateFrequency: 'EVERY_MINUTE', ...settings },
    now: () => clock,
  });
const managed = (data: ExecutorData, changes: Partial<LaunchSpec> = {}): Partial<LaunchSpec> => ({
  ...changes,
  executorData: data,
  command: { shell: true, value: data.cmd, arguments: data.extraCmdLineArgs ?? [] },
});
const area = (spec: LaunchSpec, ...path: string[]) => cluster.sandbox(spec, spec.taskId, ...path);
const results = (spec: LaunchSpec, into = area(spec, 'logs')) =>
  (existsSync(into) ? readdirSync(into) : []).filter((name) => !name.startsWith('.')).toSorted();
/** Long logs are compressed one after the other after the end of their task. */
const untilCompressed = (spec: LaunchSpec) =>
  waitFor('the compression', () => readdirSync(area(spec, 'logs')).every((name) => /^[^.].*\.gz$/.test(name)), {
    timeoutMillis: 60_000,
  });
/** All that a log ever had: its results, the oldest first, then itself. */
function* everything(spec: LaunchSpec): Generator<Buffer> {
  for (const name of results(spec)) {
    const bytes = readFileSync(area(spec, 'logs', name));
    yield name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
  }
  if (existsSync(area(spec, 'service.log'))) yield readFileSync(area(spec, 'service.log'));
}

/** Writes numbered lines until there is a file "stop", then says in a file how many. */
const writer = (lines: number, pauseMillis: number) => `
const { existsSync, writeSync, writeFileSync, renameSync } = require('node:fs');
const filler = 'x'.repeat(89);
const pause = new Int32Array(new SharedArrayBuffer(4));
let n = 0;
while (!existsSync('stop')) {
  let text = '';
  for (let i = 0; i < ${lines}; i++) text += String(++n).padStart(9, '0') + ' ' + filler + '\\n';
  writeSync(1, text);
  if (${pauseMillis}) Atomics.wait(pause, 0, 0, ${pauseMillis});
}
writeFileSync('written.new', String(n));
renameSync('written.new', 'written');
setInterval(() => undefined, 1000);
`;
const nodeCommand = (script: string) => `${process.execPath} -e '${script.replaceAll("'", `'\\''`)}'`;

const bytesPerLine = 100;
/** The first line that is not the one that should be there. */
function firstGap(parts: Iterable<Buffer>, lines: number): string | undefined {
  let seen = 0;
  let left: Buffer = Buffer.alloc(0);
  for (const part of parts) {
    const bytes = Buffer.concat([left, part]);
    const whole = Math.floor(bytes.length / bytesPerLine);
    for (let at = 0; at < whole; at++) {
      const number = bytes.toString('latin1', at * bytesPerLine, at * bytesPerLine + 10);
      if (Number(number) !== ++seen) return `line ${seen} begins '${number}'`;
    }
    left = bytes.subarray(whole * bytesPerLine);
  }
  return seen === lines && left.length === 0 ? undefined : `${seen} lines and ${left.length} bytes`;
}

/** The clock goes on by a minute whenever the results say that a rotation is done. */
async function whileRotating(spec: LaunchSpec, rotations: number): Promise<void> {
  let seen = -1;
  await waitFor(
    `${rotations} rotations (${cluster.log.lines.join('\n')})`,
    () => {
      const done = results(spec).length;
      if (done > seen) clock += minute;
      seen = done;
      return done >= rotations;
    },
    { timeoutMillis: 150_000, everyMillis: 20 },
  );
}

async function stopWriting(spec: LaunchSpec): Promise<number> {
  writeFileSync(area(spec, 'app', 'stop'), '');
  return Number(await cluster.fileOf(spec, spec.taskId, 'app', 'written'));
}

test.each([
  { name: 'writes 5 MB/s', lines: 500, pauseMillis: 10, rotations: 10 },
  { name: 'writes 50 MB/s', lines: 5000, pauseMillis: 10, rotations: 4 },
])(
  'each line of a service that $name is found once, in order, whatever is rotated meanwhile',
  { timeout: 200_000 },
  async ({ lines: atOnce, pauseMillis, rotations }) => {
    cluster = await start({ logrotateCount: 1000 });
    const spec = await cluster.launch('', managed({ cmd: nodeCommand(writer(atOnce, pauseMillis)) }));
    await cluster.untilState(spec, 'TASK_RUNNING');
    await whileRotating(spec, rotations);
    const lines = await stopWriting(spec);
    expect(firstGap(everything(spec), lines)).toBeUndefined();
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
    await untilCompressed(spec);
    expect(firstGap(everything(spec), lines)).toBeUndefined();
    expect(existsSync(area(spec, 'service.log'))).toBe(false);
  },
);

test(
  'a kill of the agent at any moment of a rotation loses nothing and doubles nothing',
  { timeout: 200_000 },
  async () => {
    cluster = await AgentCluster.start({
      program: agentProgram,
      settings: { logrotateFrequency: 'DAILY', maxServiceLogSizeMb: 1, checkLogSizesEveryMillis: 100 },
    });
    const spec = await cluster.launch('', managed({ cmd: nodeCommand(writer(500, 10)) }));
    await cluster.untilState(spec, 'TASK_RUNNING');
    for (let kills = 0; kills < 6; kills++) {
      await waitFor(
        'a rotation under way',
        () => readdirSync(area(spec, 'logs')).some((name) => name.endsWith('.rest')),
        {
          timeoutMillis: 60_000,
          everyMillis: 1,
        },
      );
      await delay(kills * 7);
      await cluster.killAgent();
      await cluster.startAgent();
    }
    const lines = await stopWriting(spec);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
    await untilCompressed(spec);
    expect(firstGap(everything(spec), lines)).toBeUndefined();
  },
);

test('outputs of a plain command are rotated while it runs, and stay where they are at its end', async () => {
  cluster = await start();
  const spec = await cluster.launch('echo before; echo error >&2; while [ ! -e go ]; do sleep 0.05; done; echo after');
  await cluster.fileOf(spec, 'stderr');
  clock += minute;
  const logs = cluster.sandbox(spec, 'logs');
  await waitFor('both results', () => results(spec, logs).filter((name) => name.endsWith('.gz')).length === 2);
  const content = results(spec, logs).map((name) => gunzipSync(readFileSync(join(logs, name))).toString());
  expect(content).toEqual(['error\n', 'before\n']);
  writeFileSync(cluster.sandbox(spec, 'go'), '');
  await cluster.untilState(spec, 'TASK_FINISHED');
  expect(cluster.output(spec)).toBe('after\n');
});

test('an empty log is not rotated, and goes with the end', async () => {
  cluster = await start();
  const spec = await cluster.run('', managed({ cmd: 'true' }));
  expect([results(spec), existsSync(area(spec, 'service.log'))]).toEqual([[], false]);
});

test('at the end the log is moved to its results, and its tail is kept', async () => {
  cluster = await start({ logrotateFrequency: 'MONTHLY' });
  const spec = await cluster.run('', managed({ cmd: 'echo hello' }));
  const [name] = results(spec);
  expect(name).toBe(`service.log-${day(clock)}${Math.floor(clock / 1000)}.log.gz`);
  expect(Buffer.concat([...everything(spec)]).toString()).toBe('hello\n');
  expect(readFileSync(area(spec, 'tail_of_finished_service.log'), 'utf8')).toBe('hello\n');
});

test('as many lines of its tail are kept as the settings say', async () => {
  cluster = await start({ logrotateFrequency: 'MONTHLY', tailLogLinesToSave: 2 });
  const spec = await cluster.run('', managed({ cmd: 'seq 1 5' }));
  expect(readFileSync(area(spec, 'tail_of_finished_service.log'), 'utf8')).toBe('4\n5\n');
});

test('with skipLogrotateAndCompress the log stays as it is', async () => {
  cluster = await start({ maxServiceLogSizeMb: 1 });
  const spec = await cluster.run('', managed({ cmd: 'echo hello', skipLogrotateAndCompress: true }));
  expect(readFileSync(area(spec, 'service.log'), 'utf8')).toBe('hello\n');
  expect([results(spec), existsSync(area(spec, 'tail_of_finished_service.log'))]).toEqual([[], false]);
});

test('a task says how often its log is rotated, and so many are kept', async () => {
  cluster = await start({ logrotateFrequency: 'MONTHLY', logrotateCount: 2 });
  const spec = await cluster.launch(
    '',
    managed({ cmd: `sh -c 'while :; do echo x; sleep 0.05; done'`, logrotateFrequency: 'HOURLY' }),
  );
  const never = await cluster.launch('', managed({ cmd: `sh -c 'echo x; sleep 600'` }));
  await cluster.fileOf(never, never.taskId, 'service.log');
  for (let rotations = 0; rotations < 4; rotations++) {
    const before = results(spec).at(-1);
    clock += 60 * minute;
    await waitFor(
      'a rotation',
      () => results(spec).some((name) => name.endsWith('.gz')) && results(spec).at(-1) !== before,
    );
  }
  await waitFor('the removal of the oldest', () => results(spec).length === 2);
  expect(results(never)).toEqual([]);
});

test('additional files are rotated in their folder, by time or by size', async () => {
  cluster = await start({
    logrotateAdditionalFiles: [
      'app/*.log',
      { filename: 'app/big.txt', logrotateSizeOverride: '1k', dateformat: '%s', extension: 'txt' },
      'app/missing',
    ],
    logrotateCompressionSettings: { compressCmd: '/usr/bin/gzip', compressOptions: ['-c', '-1'], compressExt: 'gzz' },
    checkLogSizesEveryMillis: 100,
  });
  const cmd = `sh -c 'echo x >gc.log; head -c 500 /dev/zero >big.txt; sleep 600'`;
  const spec = await cluster.launch('', managed({ cmd }));
  await cluster.fileOf(spec, spec.taskId, 'app', 'big.txt');
  clock += minute;
  const app = area(spec, 'app');
  await waitFor('the first', () => existsSync(join(app, `gc.log-${day(clock)}.gzz`)));
  expect(gunzipSync(readFileSync(join(app, `gc.log-${day(clock)}.gzz`))).toString()).toBe('x\n');
  expect(results(spec, app).filter((name) => name.startsWith('big'))).toEqual(['big.txt']);
  appendFileSync(join(app, 'big.txt'), Buffer.alloc(600));
  clock += 1_000;
  await waitFor('the second', () => existsSync(join(app, `big.txt-${Math.floor(clock / 1000)}.txt.gzz`)));
  expect(statSync(join(app, 'big.txt')).size).toBe(0);
});

test.each([
  ['a link', () => 'ln -s /etc/hostname service.log'],
  ['a pipe', () => 'mkfifo service.log'],
  ['a folder', () => 'mkdir service.log'],
])('%s in place of the log is left as it is', async (_what, command) => {
  cluster = await start();
  const spec = await cluster.launch('', managed({ cmd: `sh -c 'cd ..; rm service.log; ${command()}; sleep 600'` }));
  await waitFor(
    'the task',
    () => existsSync(area(spec, 'service.log')) && !lstatSync(area(spec, 'service.log')).isFile(),
  );
  const other = await cluster.launch('', managed({ cmd: `sh -c 'echo x; sleep 600'` }));
  await cluster.fileOf(other, other.taskId, 'service.log');
  clock += minute;
  await waitFor('the rotation of another', () => results(other).some((name) => name.endsWith('.gz')));
  expect(results(spec)).toEqual([]);
});

test('results go nowhere but to the folder of the task', async () => {
  cluster = await start();
  const target = tempFolder();
  chmodSync(target.path, 0o777);
  const cmd = `sh -c 'cd ..; echo x; rmdir logs; ln -s ${target.path} logs; sleep 600'`;
  const spec = await cluster.launch('', managed({ cmd }));
  const other = await cluster.launch('', managed({ cmd: `sh -c 'echo x; sleep 600'` }));
  await cluster.fileOf(other, other.taskId, 'service.log');
  clock += minute;
  await waitFor('the rotation of another', () => results(other).some((name) => name.endsWith('.gz')));
  await cluster.driver.kill(spec.taskId, 's1', 0, 1);
  await cluster.untilState(spec, 'TASK_KILLED');
  expect([readdirSync(target.path), readFileSync(area(spec, 'service.log'), 'utf8')]).toEqual([[], 'x\n']);
  target.remove();
});
