import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { AgentDirectory } from '../../src/agent/state/agent-directory.js';
import { Cgroups } from '../../src/agent/cgroups/cgroups.js';
import { readMounts } from '../../src/agent/cgroups/mounts.js';
import { isLive, readStat } from '../../src/agent/processes/process-identity.js';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { image, type TestPodman, testPodman, withoutPodman } from '../support/podman.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/*
 * The agent is killed in each phase of a task's life, at a point that is reached for certain, and another one takes over: the
 * task ends in the one right way, its command has run once at most, and nothing is left of it but its files.
 */
interface Phase {
  name: string;
  settings?: object;
  /** The task, and what has to be there before it is launched. */
  task: () => Partial<LaunchSpec>;
  prepare?: (spec: LaunchSpec) => void;
  /** Resolves when the phase is reached, which does not end by itself. */
  reached: (spec: LaunchSpec) => Promise<unknown>;
  /** Done while there is no agent. */
  meanwhile?: (spec: LaunchSpec) => Promise<unknown> | void;
  /** Done when there is another one: lets the task go on. */
  goOn?: (spec: LaunchSpec) => Promise<unknown> | void;
  end: string;
  says?: string;
  /** Number of times the command has run. */
  runs: 0 | 1;
  /** Further conditions that must hold in the end. */
  also?: (spec: LaunchSpec) => void;
}

const isRoot = process.getuid?.() === 0;
const gates = tempFolder();
let server: Server;
let url: string;
let cluster: AgentCluster;
let asked: string[] = [];
let rotatingPid = 0;

beforeAll(async () => {
  chmodSync(gates.path, 0o777);
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/many.tar') return void response.end(manyFiles());
    // The rest never comes.
    response.write('begun');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 60_000);
afterAll(() => {
  server.closeAllConnections();
  server.close();
  gates.remove();
});
beforeEach(() => {
  asked = [];
  for (const name of readdirSync(gates.path)) rmSync(gate(name));
});
afterEach(() => cluster.close());

const md5 = (text: string) => createHash('md5').update(text).digest('hex');
const manyFiles = () => tarOf(Array.from({ length: 20_000 }, (_, index) => ({ name: `many/f${index}` })));
const gate = (name: string) => join(gates.path, name);
const open = (name: string) => writeFileSync(gate(name), '', { mode: 0o666 });
const until = <T>(what: string, holds: () => T | Promise<T>) =>
  waitFor(what, holds, { timeoutMillis: 30_000, everyMillis: 2 });

const area = (spec: LaunchSpec, ...path: string[]) => cluster.sandbox(spec, spec.taskId, ...path);
const managed = (cmd: string, data: Partial<ExecutorData> = {}, more: Partial<LaunchSpec> = {}) => ({
  executorData: { cmd, ...data },
  command: { shell: true, value: cmd, arguments: [] },
  ...more,
});
const plain = (script: string, more: Partial<LaunchSpec> = {}) => ({
  command: { shell: true, value: script, arguments: [] },
  ...more,
});
const counts = 'echo x >>runs';
const waits = 'while [ ! -e go ]; do sleep 0.05; done';
const go = (spec: LaunchSpec) => writeFileSync(cluster.sandbox(spec, 'go'), '');
const goInApp = (spec: LaunchSpec) => writeFileSync(area(spec, 'app', 'go'), '');
const isThere = (path: (spec: LaunchSpec) => string) => (spec: LaunchSpec) =>
  until(`${path(spec)}`, () => existsSync(path(spec)) && statSync(path(spec)).size > 0);
const never = { end: 'TASK_LOST', says: 'The agent ended before the task was started', runs: 0 } as const;

const stop = (pid: number) => {
  process.kill(pid, 'SIGSTOP');
  return until('it stands still', () => readStat(pid)?.state === 'T');
};
const processOf = (name: string) => cluster.processes().find(({ pid }) => programOf(pid) === name);
function programOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

const journalOf = (spec: LaunchSpec) =>
  (JSON.parse(readFileSync(area(spec, 'logrotate.status'), 'utf8')) as { rotating: { pid: number; phase: string } })
    .rotating;
const lineLength = 100;
const lines = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `${from + index}`.padEnd(lineLength - 1, 'x') + '\n').join('');
/** All that a log ever had: its results, the oldest first. */
const everything = (spec: LaunchSpec) =>
  readdirSync(area(spec, 'logs'))
    .filter((name) => !name.startsWith('.'))
    .toSorted()
    .map((name) => readFileSync(area(spec, 'logs', name)))
    .map((bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString())
    .join('');
/** Compresses when there is a file "compress". */
const writeCompressor = () =>
  writeFileSync(
    gate('compress.sh'),
    `#!/bin/sh\n: >>${gate('compressing')}\nwhile [ ! -e ${gate('compress')} ]; do sleep 0.05; done\nexec gzip -c -1\n`,
    { mode: 0o755 },
  );
const rotating = {
  logrotateFrequency: 'MONTHLY',
  maxServiceLogSizeMb: 1,
  checkLogSizesEveryMillis: 100,
  logrotateCompressionSettings: { compressCmd: gate('compress.sh'), compressExt: 'gz' },
};

/** `beside`: what else it does while it writes and waits. */
const writes = (beside = '') =>
  `sh -c '${counts}; ${beside} cat ${gate('lines')}; ${waits}; tail -c ${10 * lineLength} ${gate('lines')}'`;
const rotated = (count: number): Pick<Phase, 'task' | 'prepare' | 'goOn' | 'end' | 'runs' | 'also'> => ({
  task: () => managed(writes()),
  prepare: () => {
    writeCompressor();
    writeFileSync(gate('lines'), lines(count), { mode: 0o644 });
  },
  goOn: (spec) => {
    open('compress');
    goInApp(spec);
  },
  end: 'TASK_FINISHED',
  runs: 1,
  also: (spec) => expect(everything(spec) === lines(count) + lines(10, count - 10), 'every line once').toBe(true),
});

const phases: Phase[] = [
  {
    name: 'a file is being fetched into the sandbox',
    task: () => plain(counts, { artifacts: [{ uri: `${url}/file` }] }),
    reached: isThere((spec) => cluster.sandbox(spec, 'file')),
    ...never,
  },
  {
    name: 'a file is being fetched into the cache',
    task: () => managed(counts, { externalArtifacts: [{ filename: 'a', url: `${url}/a`, md5sum: md5('whole') }] }),
    reached: () => until('the request', () => asked.includes('/a')),
    ...never,
  },
  {
    name: 'an archive is being unpacked',
    task: () => plain(counts, { artifacts: [{ uri: `${url}/many.tar` }] }),
    reached: async () => stop((await until('tar', () => processOf('tar'))).pid),
    ...never,
  },
  {
    name: 'the shim has not begun the task',
    task: () => plain(counts),
    // To open a pipe for writing is to wait for a reader.
    prepare: (spec) => {
      mkdirSync(cluster.control(spec, ''), { recursive: true });
      execFileSync('mkfifo', [cluster.control(spec, 'shim.log')]);
    },
    reached: () => until('the shim', () => cluster.processes().length > 0),
    ...never,
  },
  {
    name: 'the shim has not begun the task, and a kill is asked for',
    task: () => plain(counts),
    prepare: (spec) => {
      mkdirSync(cluster.control(spec, ''), { recursive: true });
      execFileSync('mkfifo', [cluster.control(spec, 'shim.log')]);
    },
    reached: async (spec) => {
      await until('the shim', () => cluster.processes().length > 0);
      await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
    },
    end: 'TASK_KILLED',
    says: 'Killed before start',
    runs: 0,
  },
  {
    name: 'the start script runs',
    task: () =>
      managed(`sh -c '${counts}'`, {
        embeddedArtifacts: [
          {
            name: 'wait',
            filename: 'wait.sh',
            targetFolderRelativeToTask: 'app/.profile.d',
            content: [Buffer.from(`echo x >profile; ${waits}\n`).toString('base64')],
          },
        ],
      }),
    reached: isThere((spec) => area(spec, 'app', 'profile')),
    goOn: goInApp,
    end: 'TASK_FINISHED',
    runs: 1,
  },
  {
    name: 'the command runs',
    task: () => plain(`${counts}; ${waits}; exit 3`),
    reached: isThere((spec) => cluster.sandbox(spec, 'runs')),
    goOn: go,
    end: 'TASK_FAILED',
    says: 'Exit code 3',
    runs: 1,
  },
  {
    name: 'the command runs, and ends while there is no agent',
    task: () => plain(`${counts}; ${waits}; exit 3`),
    reached: isThere((spec) => cluster.sandbox(spec, 'runs')),
    meanwhile: async (spec) => {
      go(spec);
      await until('the end', () => existsSync(cluster.control(spec, 'exit')));
    },
    end: 'TASK_FAILED',
    says: 'Exit code 3',
    runs: 1,
  },
  {
    name: 'its log is being compressed before it is emptied',
    settings: rotating,
    ...rotated(60_000),
    reached: async (spec) => {
      await until('the rotation', () => existsSync(gate('compressing')));
      expect(journalOf(spec).phase).toBe('COPYING');
    },
  },
  {
    name: 'its log is empty, and what was in it is being compressed',
    settings: rotating,
    ...rotated(20_000),
    reached: async (spec) => {
      await until('the rotation', () => existsSync(gate('compressing')));
      expect(journalOf(spec).phase).toBe('EMPTIED');
    },
  },
  {
    name: 'its processes stand still for a rotation',
    settings: rotating,
    ...rotated(20_000),
    // Two that have each other go on keep the rotation waiting for all to stand still.
    task: () => {
      const restless = (own: string, other: string) =>
        `(while :; do read -r p <${other} && kill -CONT $p; done 2>/dev/null) & echo $! >${own};`;
      return managed(writes(`${restless('a.pid', 'b.pid')} ${restless('b.pid', 'a.pid')}`));
    },
    reached: async (spec) => {
      const main = () => Number(readFileSync(cluster.control(spec, 'task.new'), 'utf8').split(' ')[0]);
      await until('the writers stand still', () => readStat(main())?.state === 'T');
      await stop((rotatingPid = journalOf(spec).pid));
      expect(readStat(main())?.state).toBe('T');
    },
    also: (spec) => {
      rotated(20_000).also?.(spec);
      expect(isLive(readStat(rotatingPid)), 'the program that rotates lives').toBe(false);
    },
  },
  {
    name: 'it has been asked to end',
    task: () => plain(`trap 'echo t >>terms' TERM; ${counts}; ${waits}; exit 0`, { killGraceMillis: 60_000 }),
    reached: async (spec) => {
      await isThere((it) => cluster.sandbox(it, 'runs'))(spec);
      await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
      await isThere((it) => cluster.sandbox(it, 'terms'))(spec);
    },
    goOn: async (spec) => {
      // By then another one would have got its signal.
      const other = await cluster.launch('trap "exit 0" TERM; while :; do sleep 0.05; done');
      await cluster.untilState(other, 'TASK_RUNNING');
      await cluster.driver.kill(other.taskId, 's1', 60_000, 1);
      await cluster.untilState(other, 'TASK_KILLED');
      go(spec);
    },
    end: 'TASK_KILLED',
    says: 'Killed gracefully',
    runs: 1,
    also: (spec) => expect(readFileSync(cluster.sandbox(spec, 'terms'), 'utf8'), 'asked once').toBe('t\n'),
  },
];

async function crash(phase: Phase, settings: object = {}): Promise<LaunchSpec> {
  cluster = await AgentCluster.start({ program: agentProgram, settings: { ...settings, ...phase.settings } });
  const spec = cluster.spec(phase.task());
  phase.prepare?.(spec);
  expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
  await phase.reached(spec);
  await cluster.killAgent();
  await phase.meanwhile?.(spec);
  await cluster.startAgent();
  // What a scheduler does that did not get the answer.
  expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
  await phase.goOn?.(spec);
  const message = await waitFor(
    `${phase.end} (${cluster.seen.statesOf(spec.taskId).join()})`,
    () => cluster.seen.updates.find(({ taskId, state }) => taskId === spec.taskId && state === phase.end),
    { timeoutMillis: 60_000 },
  );
  expect(message.message).toContain(phase.says ?? '');
  return spec;
}

async function expectOneEnd(spec: LaunchSpec, { end, runs }: Phase): Promise<void> {
  const states = cluster.seen.statesOf(spec.taskId);
  expect(states).toEqual(runs === 0 ? ['TASK_STARTING', end] : ['TASK_STARTING', 'TASK_RUNNING', end]);
  expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: end }]);
  const file = [cluster.sandbox(spec, 'runs'), area(spec, 'app', 'runs')].find(existsSync);
  expect(file === undefined ? '' : readFileSync(file, 'utf8')).toBe('x\n'.repeat(runs));
}

async function expectNothingLeft(spec: LaunchSpec): Promise<void> {
  expect(cluster.processes()).toEqual([]);
  await until('the record of its end', () => existsSync(join(cluster.root, 'ended', spec.taskId, 'end.json')));
  expect(readdirSync(join(cluster.root, 'tasks'))).toEqual([]);
  for (const name of ['new', 'kept']) expect(readdirSync(join(cluster.root, 'artifacts', name))).toEqual([]);
  const { key } = await AgentDirectory.open(cluster.root);
  await until('no cgroup', () => Cgroups.probe(`muster-${key}`, readMounts()).names().length === 0);
  // The user that had it is free for others.
  if (isRoot && existsSync(cluster.sandbox(spec)))
    expect([statSync(cluster.sandbox(spec)).uid, statSync(cluster.sandbox(spec)).mode & 0o777]).toEqual([0, 0o700]);
}

describe('an agent is killed while', () => {
  test.each(phases)('$name', { timeout: 120_000 }, async (phase) => {
    const spec = await crash(phase);
    await expectOneEnd(spec, phase);
    await expectNothingLeft(spec);
    // A long log is compressed after the end.
    if (phase.also) await until('the compression', () => !isCompressing(spec));
    phase.also?.(spec);
  });
});

const isCompressing = (spec: LaunchSpec) =>
  existsSync(area(spec, 'logs')) && readdirSync(area(spec, 'logs')).some((name) => name.startsWith('.'));

describe.skipIf(withoutPodman !== undefined)(`with podman (${withoutPodman ?? 'installed'})`, () => {
  let podman: TestPodman;
  beforeAll(() => void (podman = testPodman()), 120_000);
  afterAll(() => podman.remove());

  /** Podman that waits at a command, before or after it does it, until the gate of that name is opened. */
  const engine = (command: string, when: 'before' | 'after') => {
    const wait = `: >>${gate('reached')}; while [ ! -e ${gate('open')} ]; do sleep 0.05; done`;
    const real = '/usr/bin/podman "$@"';
    const path = join(podman.folder, 'engine');
    writeFileSync(
      path,
      `#!/bin/sh
for word in "$@"; do [ "$word" = ${command} ] && found=yes; done
[ -n "$found" ] && [ ! -e ${gate('open')} ] || exec ${real}
${when === 'before' ? `${wait}\nexec ${real}` : `${real}\nstatus=$?\n${wait}\nexit $status`}
`,
      { mode: 0o755 },
    );
    return path;
  };
  const container = (script: string, changes: object = {}): Partial<LaunchSpec> => ({
    ...managed(`sh -c '${script}'`),
    container: { type: 'DOCKER', docker: { image, privileged: false, network: 'HOST', ...changes } },
  });
  const reached = () => until('the engine waits', () => existsSync(gate('reached')));
  const openGate = () => open('open');
  const finished = { end: 'TASK_FINISHED', says: 'Exit code 0', runs: 1 } as const;

  const ofContainers: (Phase & { command: string; when: 'before' | 'after' })[] = [
    {
      name: 'its image is being pulled',
      command: 'pull',
      when: 'before',
      task: () => container(counts, { forcePullImage: true }),
      reached,
      ...never,
    },
    {
      name: 'its container is being created',
      command: 'create',
      when: 'before',
      task: () => container(counts),
      reached,
      ...never,
    },
    {
      name: 'its container is created',
      command: 'create',
      when: 'after',
      task: () => container(counts),
      reached,
      ...never,
    },
    {
      name: 'its container is being started',
      command: 'start',
      when: 'before',
      task: () => container(counts),
      reached,
      goOn: openGate,
      ...finished,
    },
    {
      name: 'its container runs',
      command: 'none',
      when: 'before',
      task: () => container(`${counts}; ${waits}`),
      reached: isThere((spec) => area(spec, 'app', 'runs')),
      goOn: goInApp,
      ...finished,
    },
    {
      name: 'its container has been asked to end',
      command: 'none',
      when: 'before',
      task: () => container(`trap "echo t >>terms" TERM; ${counts}; ${waits}`),
      reached: async (spec) => {
        await isThere((it) => area(it, 'app', 'runs'))(spec);
        await cluster.untilState(spec, 'TASK_RUNNING');
        await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
        await isThere((it) => area(it, 'app', 'terms'))(spec);
      },
      goOn: async (spec) => {
        await until(
          'its figures',
          async () => ((await cluster.driver.statistics(spec.taskId, 's1'))?.memTotalBytes ?? 0) > 0,
        );
        const other = await cluster.launch('trap "exit 0" TERM; while :; do sleep 0.05; done');
        await cluster.untilState(other, 'TASK_RUNNING');
        await cluster.driver.kill(other.taskId, 's1', 60_000, 1);
        await cluster.untilState(other, 'TASK_KILLED');
        goInApp(spec);
      },
      end: 'TASK_KILLED',
      says: 'Killed gracefully',
      runs: 1,
      also: (spec) => expect(readFileSync(area(spec, 'app', 'terms'), 'utf8'), 'asked once').toBe('t\n'),
    },
    {
      name: 'its container has ended, and is being removed',
      command: 'rm',
      when: 'before',
      task: () => container(counts),
      reached,
      goOn: openGate,
      ...finished,
    },
  ];
  test.each(ofContainers)('$name', { timeout: 120_000 }, async (phase) => {
    const containers = { ...podman.settings, engine: engine(phase.command, phase.when) };
    const spec = await crash(phase, { containers });
    await expectOneEnd(spec, phase);
    await expectNothingLeft(spec);
    expect(podman.names()).toEqual([]);
    phase.also?.(spec);
  });
});
