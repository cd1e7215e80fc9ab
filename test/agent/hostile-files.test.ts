import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFileBelow, existsBelow, openFileBelow } from '../../src/agent/sandbox/below.js';
import { removeTree } from '../../src/agent/sandbox/remove-tree.js';
import { SandboxFiles } from '../../src/agent/sandbox/sandbox-files.js';
import { saveTail } from '../../src/agent/logs/tail.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { spawnNode } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';

const isRoot = userInfo().uid === 0;
const user = isRoot ? 'nobody' : undefined;
const nobody = 65_534;
const outside = tempFolder();
const secret = join(outside.path, 'secret');
let cluster: AgentCluster;
beforeAll(async () => {
  cluster = await AgentCluster.start({
    settings: { shellCommands: [{ name: 'where', command: ['/bin/sh', '-c', 'pwd'] }] },
  });
  writeFileSync(secret, 'the secret', { mode: 0o600 });
});
afterAll(async () => {
  await cluster.close();
  outside.remove();
});

const managed = (cmd: string): Partial<LaunchSpec> => ({
  executorData: { cmd },
  command: { shell: true, value: cmd, arguments: [] },
  user,
});
/** Runs in `app`; the logs are one folder above. */
const runManaged = (script: string) => cluster.run('', managed(`sh -c '${script}'`));
const inArea = (spec: LaunchSpec, ...path: string[]) => cluster.sandbox(spec, spec.taskId, ...path);
const tail = 'tail_of_finished_service.log';

describe('what a task leaves in place of its log', () => {
  test('pipes, of more tasks than the agent has threads, keep it from nothing', async () => {
    const pipes = Array.from({ length: 9 }, () => runManaged(`cd ..; rm service.log; mkfifo service.log`));
    for (const spec of await Promise.all(pipes)) expect(existsSync(inArea(spec, tail))).toBe(false);
    const next = await cluster.run('echo well');
    expect((await (await cluster.driver.sandbox(next.taskId, 's1'))?.read('stdout', 0, 9))?.data.toString()).toBe(
      'well\n',
    );
  });

  test.each([
    { what: 'a link to a file of the agent', script: () => `ln -s ${secret} service.log` },
    { what: 'a link to a folder', script: () => `ln -s ${outside.path} service.log` },
    { what: 'a link within the sandbox', script: () => `ln -s deploy.env service.log` },
    { what: 'a link to a device', script: () => `ln -s /dev/zero service.log` },
    { what: 'a folder', script: () => `mkdir service.log` },
    {
      what: 'a socket',
      script: () =>
        `node -e "require(String.fromCharCode(110,101,116)).createServer().listen(process.argv[1]).unref()" service.log`,
    },
  ])('$what is not read', async ({ script }) => {
    const spec = await runManaged(`cd ..; rm service.log; ${script()}`);
    expect(cluster.seen.statesOf(spec.taskId).at(-1)).toMatch(/TASK_FINISHED|TASK_FAILED/);
    expect(existsSync(inArea(spec, tail))).toBe(false);
  });

  test.each([
    ['a link to a file that is there', () => `ln -s ${secret}`],
    ['a link to one that is not', () => `ln -s ${join(outside.path, 'made')}`],
    ['a pipe', () => 'mkfifo'],
    ['a folder', () => 'mkdir'],
  ])('%s in place of the tail is left as it is', async (_what, command) => {
    const spec = await runManaged(`cd ..; ${command()} ${tail}; echo a line`);
    expect(lstatSync(inArea(spec, tail)).isFile()).toBe(false);
    expect(readFileSync(secret, 'utf8')).toBe('the secret');
    expect(existsSync(join(outside.path, 'made'))).toBe(false);
  });

  test('its whole folder turned into a link: nothing is written where it leads', async () => {
    const target = join(outside.path, 'target');
    mkdirSync(target, { mode: 0o777 });
    writeFileSync(join(target, 'service.log'), 'not of the task');
    const spec = await runManaged(`cd ../..; mv ${'$CLUSTER_TASK_ID'} aside; ln -s ${target} $CLUSTER_TASK_ID`);
    expect(lstatSync(inArea(spec)).isSymbolicLink()).toBe(true);
    expect(existsSync(join(target, tail))).toBe(false);
  });
});

describe('the result file of a health check', () => {
  const file = { path: 'state/healthy', intervalSeconds: 0.02, timeoutSeconds: 0.5 };

  test('is not looked for outside, nor behind a pipe', async () => {
    writeFileSync(join(outside.path, 'healthy'), '');
    const changes = { user, healthcheckResultFile: file };
    const [linked, piped] = await Promise.all([
      cluster.launch(`ln -s ${outside.path} state; sleep 600`, changes),
      cluster.launch(`mkfifo state; sleep 600`, changes),
    ]);
    for (const spec of [linked!, piped!])
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('waiting for the health file');
  });

  test('may be whatever has its name: it is not opened', async () => {
    const spec = await cluster.launch(`mkdir state; mkfifo state/healthy; sleep 600`, {
      user,
      healthcheckResultFile: { ...file, timeoutSeconds: 60 },
    });
    expect(await cluster.untilState(spec, 'TASK_RUNNING')).toContain('health file found');
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  });
});

describe.runIf(isRoot)('a command beside a task', () => {
  test('whose folder leads elsewhere neither runs nor writes there', async () => {
    const target = join(outside.path, 'commands');
    mkdirSync(target, { mode: 0o777 });
    const script = `cd ../..; mv $CLUSTER_TASK_ID aside; ln -s ${target} $CLUSTER_TASK_ID; echo >aside/ready; sleep 600`;
    const spec = await cluster.launch('', managed(`sh -c '${script}'`));
    await cluster.fileOf(spec, 'aside', 'ready');
    const order = { taskId: spec.taskId, name: 'where', options: [], timestamp: Date.now() };
    await cluster.driver.runCommand(order, 's1', 1);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(execFileSync('ls', [target], { encoding: 'utf8' })).toBe('');
  });
});

describe('a sandbox that changes while it is read', () => {
  /** Turns `name` from what is meant to be there into a link to what is not, and back, as fast as it can. */
  const flipper = (root: string, name: string, target: string) => {
    const script = `const fs = require('fs'); process.chdir(process.argv[1]);
      fs.symlinkSync(process.argv[3], 'link'); console.log('flipping');
      for (;;) { fs.renameSync(process.argv[2], 'aside'); fs.renameSync('link', process.argv[2]);
        fs.renameSync(process.argv[2], 'link'); fs.renameSync('aside', process.argv[2]); }`;
    return spawnNode(['-e', script, root, name, target]);
  };

  test.each([
    { what: 'a file', name: 'data', path: 'data' },
    { what: 'a folder', name: 'data', path: 'data/secret' },
  ])('$what that flips to a link shows nothing from outside', async ({ what, name, path }) => {
    const folder = tempFolder();
    if (what === 'a folder') mkdirSync(join(folder.path, name));
    writeFileSync(join(folder.path, path), 'fine');
    const flipping = flipper(folder.path, name, what === 'a folder' ? outside.path : secret);
    try {
      await flipping.line('flipping');
      const files = new SandboxFiles(folder.path);
      const seen = new Set<string | undefined>();
      for (const end = performance.now() + 1_500; performance.now() < end;)
        seen.add((await files.read(path, 0, 100))?.data.toString());
      expect([...seen].filter((text) => text !== undefined)).toEqual(['fine']);
    } finally {
      await flipping.kill();
      folder.remove();
    }
  });

  test('its removal removes nothing from outside, however deep it is', async () => {
    const folder = tempFolder();
    const root = join(folder.path, 'box');
    const treasure = join(folder.path, 'treasure');
    mkdirSync(treasure);
    for (let i = 0; i < 200; i++) writeFileSync(join(treasure, `${i}`), '');
    mkdirSync(join(root, 'data'), { recursive: true });
    const dig = `for (let i = 0; i < 3000; i++) { fs.mkdirSync('d'); process.chdir('d'); } fs.writeFileSync('file', '')`;
    execFileSync(process.execPath, ['-e', dig], { cwd: root });
    const flipping = flipper(root, 'data', treasure);
    try {
      await flipping.line('flipping');
      for (let turn = 0; turn < 20; turn++) await removeTree(root).catch(() => undefined);
    } finally {
      await flipping.kill();
    }
    await removeTree(root);
    expect(existsSync(root)).toBe(false);
    expect(execFileSync('ls', [treasure], { encoding: 'utf8' }).split('\n').length).toBe(201);
    folder.remove();
  });
});

describe('below a folder', () => {
  const folder = tempFolder();
  const root = join(folder.path, 'box');
  beforeAll(() => {
    mkdirSync(join(root, 'inner'), { recursive: true });
    writeFileSync(join(root, 'inner', 'file'), 'inside');
    symlinkSync(join(root, 'inner'), join(root, 'absolute'));
    symlinkSync(`/proc/${process.pid}/root${secret}`, join(root, 'through-proc'));
    symlinkSync(`/proc/self/root${join(root, 'inner', 'file')}`, join(root, 'through-proc-and-back'));
    symlinkSync('/proc/self/cwd', join(root, 'cwd'));
    symlinkSync('../box/inner/file', join(root, 'out-and-in'));
    symlinkSync('inner/../absolute/./file', join(root, 'winding'));
  });
  afterAll(() => folder.remove());
  const text = async (path: string, links?: 'NONE') => {
    const opened = await openFileBelow(root, path, links);
    return opened && opened.handle.readFile('utf8').finally(() => opened.handle.close());
  };

  test.each(['inner/file', 'absolute/file', 'winding', './inner//file'])('%s is found', async (path) =>
    expect(await text(path)).toBe('inside'),
  );
  test.each([
    'through-proc',
    'through-proc-and-back',
    'cwd/package.json',
    'out-and-in',
    '../box/inner/file',
    'inner/../../box/inner/file',
  ])('%s leads nowhere', async (path) => {
    expect(await text(path)).toBeUndefined();
    expect(await existsBelow(root, `${path}/x`)).toBe(false);
  });
  test('a path of too many folders leads nowhere', async () => {
    const deep = 'd/'.repeat(200);
    mkdirSync(join(root, deep), { recursive: true });
    writeFileSync(join(root, deep, 'file'), '');
    expect(await text(`${deep}file`)).toBeUndefined();
  });
  test('without links none is followed, neither to read nor to write', async () => {
    expect(await text('absolute/file', 'NONE')).toBeUndefined();
    await expect(createFileBelow(root, 'absolute/new', 0o644)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(createFileBelow(root, 'inner/file', 0o644)).rejects.toMatchObject({ code: 'EEXIST' });
    await (await createFileBelow(root, 'inner/new', 0o600)).close();
    expect(existsSync(join(root, 'inner', 'new'))).toBe(true);
  });

  test('a folder of many files is listed in part', async () => {
    const many = join(root, 'many');
    mkdirSync(many);
    execFileSync('sh', ['-c', 'seq -f f%g 120 | xargs touch'], { cwd: many });
    expect((await new SandboxFiles(root, [], 100).list('many'))?.length).toBe(100);
  });

  describe.runIf(isRoot)('of another user', () => {
    test('a hard link to what that user does not own is not shown', async () => {
      const box = join(folder.path, 'foreign');
      mkdirSync(box);
      chownSync(box, nobody, nobody);
      execFileSync('ln', [secret, join(box, 'hard')]);
      expect(await openFileBelow(box, 'hard')).toBeUndefined();
      rmSync(join(box, 'hard'));
    });
  });
});

test('the tail of a log is cut out of any size', async () => {
  const folder = tempFolder();
  const log = join(folder.path, 'service.log');
  writeFileSync(log, 'first\n');
  execFileSync('truncate', ['-s', '1T', log]);
  renameSync(log, join(folder.path, 'huge.log'));
  const layout = { serviceLog: join(folder.path, 'huge.log'), tailLog: join(folder.path, 'tail.log') };
  await saveTail(folder.path, layout, 2_500);
  expect(lstatSync(layout.tailLog).size).toBe(1024 * 1024);
  folder.remove();
});
