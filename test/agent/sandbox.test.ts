import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownerOf } from '../../src/agent/sandbox/below.js';
import { SandboxFiles } from '../../src/agent/sandbox/sandbox-files.js';
import type { TaskSandbox } from '../../src/cluster/cluster-driver.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';

let cluster: AgentCluster;
let sandbox: TaskSandbox;
let root: string;
const outside = tempFolder();
beforeAll(async () => {
  cluster = await AgentCluster.start();
  const spec = await cluster.run('echo to the log');
  sandbox = (await cluster.driver.sandbox(spec.taskId, 's1'))!;
  root = cluster.sandbox(spec);
  writeFileSync(join(outside.path, 'secret'), 'secret');
  mkdirSync(join(root, 'folder', 'inner'), { recursive: true });
  writeFileSync(join(root, 'folder', 'file'), '0123456789');
  symlinkSync('file', join(root, 'folder', 'inside'));
  symlinkSync(join(outside.path, 'secret'), join(root, 'folder', 'outside'));
  symlinkSync(outside.path, join(root, 'folder', 'outside-folder'));
  symlinkSync('../..', join(root, 'folder', 'above'));
  symlinkSync('loop', join(root, 'folder', 'loop'));
  execFileSync('mkfifo', [join(root, 'folder', 'pipe')]);
  give('folder');
});
/** Gives files of the test to the user of the task, as those that the task makes. */
const give = (...paths: string[]) => {
  const owner = ownerOf(statSync(root));
  execFileSync('chown', ['-R', '-h', String(owner), ...paths.map((path) => join(root, path))]);
};
afterAll(async () => {
  await cluster.close();
  outside.remove();
});

test('lists by name, with what a directory listing tells, and nothing that lies outside', async () => {
  expect(sandbox.root).toBe(root);
  const entries = await sandbox.list('folder');
  expect(entries?.map(({ name, mode }) => [name, mode])).toEqual([
    ['file', '-rw-r--r--'],
    ['inner', 'drwxr-xr-x'],
    ['inside', 'lrwxrwxrwx'],
    ['pipe', 'prw-r--r--'],
  ]);
  expect(entries?.[0]?.size).toBe(10);
  expect(Math.abs(entries![0]!.mtime - Date.now() / 1000)).toBeLessThan(60);
  expect((await sandbox.list(''))?.map((entry) => entry.name)).toEqual(['folder', 'stderr', 'stdout']);
  expect(await sandbox.list('folder/inner')).toEqual([]);
});

test.each([
  'nothing',
  'stdout',
  '..',
  'folder/../..',
  'folder/outside-folder',
  'folder/above',
  '/',
  '/etc',
  'folder/loop',
])('finds no folder at %j', async (path) => expect(await sandbox.list(path)).toBeUndefined());

test.each([
  ['0 to 4', 0, 4, '0123'],
  ['4 to the end', 4, 100, '456789'],
  ['nothing at the end', 10, 100, ''],
  ['nothing beyond it', 1_000, 100, ''],
  ['no bytes', 3, 0, ''],
])('reads %s', async (_what, offset, length, text) => {
  const chunk = await sandbox.read('folder/inside', offset, length);
  expect([chunk?.data.toString(), chunk?.size]).toEqual([text, 10]);
});

const unreadable = [
  'nothing',
  'folder',
  'folder/pipe',
  'folder/outside',
  'folder/outside-folder/secret',
  '../x',
  '/etc/passwd',
  'folder/loop',
  'x'.repeat(300),
  'folder/file/x',
  'a\0b',
];
test.each(unreadable)('reads nothing at %j', async (path) => {
  expect(await sandbox.read(path, 0, 100)).toBeUndefined();
  expect(await sandbox.download(path)).toBeUndefined();
});

test('streams a file, or a part of it', async () => {
  const big = Buffer.alloc(3_000_000, 'abcdefg');
  writeFileSync(join(root, 'big'), big);
  give('big');
  const whole = await sandbox.download('big');
  expect(whole?.size).toBe(big.length);
  expect(Math.abs(whole!.mtime - Date.now())).toBeLessThan(60_000);
  expect(Buffer.compare(await buffer(whole!.stream), big)).toBe(0);
  expect((await buffer((await sandbox.download('big', 2_999_995, 3))!.stream)).toString()).toBe(
    big.subarray(2_999_995, 2_999_998).toString(),
  );
  writeFileSync(join(root, 'empty'), '');
  give('empty');
  expect((await buffer((await sandbox.download('empty'))!.stream)).length).toBe(0);
});

test('a task that never was has no sandbox', async () => {
  for (const taskId of ['nobody', '..', '.', '../tasks', ''])
    expect(await cluster.driver.sandbox(taskId, 's1')).toBeUndefined();
});

describe('a folder that turns into a link while it is read', () => {
  test('shows nothing from outside', async () => {
    const folder = tempFolder();
    const inside = join(folder.path, 'box');
    mkdirSync(join(inside, 'data'), { recursive: true });
    writeFileSync(join(inside, 'data', 'secret'), 'fine');
    const files = new SandboxFiles(inside);
    let isRunning = true;
    const swapping = (async () => {
      for (let turn = 0; isRunning; turn++) {
        renameSync(join(inside, 'data'), join(inside, 'aside'));
        symlinkSync(outside.path, join(inside, 'data'));
        if (turn % 2) await new Promise((resolve) => setImmediate(resolve));
        rmSync(join(inside, 'data'));
        renameSync(join(inside, 'aside'), join(inside, 'data'));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let turn = 0; turn < 400; turn++) {
      const chunk = await files.read('data/secret', 0, 100);
      expect(['fine', undefined]).toContain(chunk?.data.toString());
    }
    isRunning = false;
    await swapping;
    folder.remove();
  });
});

test('hard links are files like any other', async () => {
  linkSync(join(root, 'folder', 'file'), join(root, 'hard'));
  expect((await sandbox.read('hard', 0, 3))?.data.toString()).toBe('012');
});
