import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterArtifact } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { gzipBomb, tarOf, zipBomb, zipOf } from '../support/archives.js';
import { tempFolder } from '../support/temp-folder.js';

const isRoot = userInfo().uid === 0;
const user = isRoot ? 'nobody' : undefined;
const outside = tempFolder();
const open = join(outside.path, 'open');
const allowed = join(outside.path, 'allowed');
let cluster: AgentCluster;
let server: Server;
let url: string;

/** Made when it is asked for first. */
const onlyOnce = (make: () => Buffer) => {
  let made: Buffer | undefined;
  return () => (made ??= make());
};

const files: Record<string, () => Buffer> = {
  'absolute.tar': () => tarOf([{ name: join(open, 'pwn'), content: 'pwned' }]),
  'above.tar': () => tarOf([{ name: '../../pwn', content: 'pwned' }]),
  'link.tar': () => tarOf([{ name: 'link', type: '2', linkTo: open }]),
  'through-link.tar': () =>
    tarOf([
      { name: 'link', type: '2', linkTo: open },
      { name: 'link/pwn', content: 'pwned' },
    ]),
  'link-to-file.tar': () => tarOf([{ name: 'tool', type: '2', linkTo: join(open, 'pwn') }]),
  'hard.tar': () => tarOf([{ name: 'hard', type: '1', linkTo: join(outside.path, 'secret') }]),
  'device.tar': () => tarOf([{ name: 'null', type: '3' }]),
  'pipe.tar': () => tarOf([{ name: 'tool', type: '6' }]),
  'deep.tar': () => tarOf([{ name: 'd/'.repeat(49), type: '5' }]),
  'many.tar.gz': onlyOnce(() => gzipSync(tarOf(Array.from({ length: 20_000 }, (_, index) => ({ name: `f${index}` }))))),
  'bomb.gz': onlyOnce(() => gzipBomb(60)),
  'bomb.tar.gz': onlyOnce(() => gzipSync(tarOf([{ name: 'bomb', content: ' '.repeat(60 << 20) }]))),
  'bomb.zip': onlyOnce(() => zipBomb(60)),
  'plain.txt': () => Buffer.from('plain'),
  // Harmless alone: they lead elsewhere by a link that another archive has left.
  'pwn.tar': () => tarOf([{ name: 'link/pwn', content: 'pwned' }]),
  'pwn.zip': () => zipOf([{ name: 'link/pwn', content: 'pwned' }]),
  'link.zip': () => zipOf([{ name: 'link', content: open, isLink: true }]),
  'through-link.zip': () =>
    zipOf([
      { name: 'link', content: open, isLink: true },
      { name: 'link/pwn', content: 'pwned' },
    ]),
  'absolute.zip': () => zipOf([{ name: join(open, 'pwn'), content: 'pwned' }]),
  'above.zip': () => zipOf([{ name: '../../pwn', content: 'pwned' }]),
  'password.zip': () => zipOf([{ name: 'a', content: 'a', isEncrypted: true }]),
  'hard-to-link.tar': () =>
    tarOf([
      { name: 'link', type: '2', linkTo: join(open, 'other.txt') },
      { name: 'hard', type: '1', linkTo: 'link' },
      { name: 'hard', content: 'pwned' },
    ]),
  'hard-above.tar': () => tarOf([{ name: 'hard', type: '1', linkTo: '../../../open/other.txt' }]),
  'link-and-folder.tar': () =>
    tarOf([
      { name: 'link', type: '2', linkTo: open },
      { name: 'link', type: '5' },
      { name: 'link/pwn', content: 'pwned' },
    ]),
  'folder.tar': () =>
    tarOf([
      { name: 'folder', type: '5' },
      { name: 'folder/a', content: 'first' },
      { name: 'folder/b', content: 'first' },
    ]),
  'folder.zip': () =>
    zipOf([
      { name: 'folder/b', content: 'second' },
      { name: 'folder/c', content: 'second' },
    ]),
  'sparse.tar': onlyOnce(() => sparse('1T')),
  'some-holes.tar': onlyOnce(() => sparse('4M')),
  'bomb.tar.xz': onlyOnce(() =>
    execFileSync('xz', ['-c'], { input: tarOf([{ name: 'bomb', content: ' '.repeat(60 << 20) }]) }),
  ),
  'bomb.tar.bz2': onlyOnce(() =>
    execFileSync('bzip2', ['-c'], { input: tarOf([{ name: 'bomb', content: ' '.repeat(60 << 20) }]) }),
  ),
  'same.tar.gz': onlyOnce(() => {
    const [member] = [tarOf([{ name: 'same' }]).subarray(0, 512)];
    return Buffer.concat(Array<Buffer>(100).fill(gzipSync(Buffer.concat(Array<Buffer>(2048).fill(member)))));
  }),
  'many.zip': onlyOnce(() => zipOf(Array.from({ length: 20_000 }, (_, index) => ({ name: `f${index}` })))),
  'twice.tar.gz': () => gzipSync(gzipSync(tarOf([{ name: 'a', content: 'a' }]))),
  'twice.txt.gz': () => gzipSync(gzipBomb(60)),
  'itself.tar': () =>
    tarOf([
      { name: './', type: '5', mode: '0000000' },
      { name: './closed', type: '5', mode: '0000555' },
      { name: './closed/a', content: 'a' },
    ]),
  'half.tar.gz': () => gzipSync(tarOf([{ name: 'a', content: 'a'.repeat(100_000) }])).subarray(0, 100),
};

/** A file that is nothing but a hole. */
function sparse(size: string): Buffer {
  const folder = tempFolder();
  try {
    execFileSync('truncate', ['-s', size, join(folder.path, 'hole')]);
    return execFileSync('tar', ['-C', folder.path, '-S', '-cf', '-', 'hole']);
  } finally {
    folder.remove();
  }
}

beforeAll(async () => {
  for (const folder of [open, allowed]) mkdirSync(folder);
  chmodSync(outside.path, 0o755);
  chmodSync(open, 0o777);
  writeFileSync(join(outside.path, 'secret'), 'the secret', { mode: 0o600 });
  writeFileSync(join(allowed, 'fine.txt'), 'fine', { mode: 0o644 });
  writeFileSync(join(allowed, 'closed.txt'), 'closed', { mode: 0o600 });
  symlinkSync(join(outside.path, 'open', 'other.txt'), join(allowed, 'link.txt'));
  writeFileSync(join(open, 'other.txt'), 'other', { mode: 0o644 });
  execFileSync('mkfifo', ['-m', '644', join(allowed, 'pipe.txt')]);
  server = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    const made = files[name];
    if (made) return void response.end(made());
    if (name === 'to-file') return void response.writeHead(302, { location: `file://${allowed}/fine.txt` }).end();
    if (name === 'endless') return void setInterval(() => response.write(Buffer.alloc(100_000)), 1).unref();
    if (name === 'slow') return void setInterval(() => response.write('x'), 100).unref();
    if (name === 'silent') return;
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cluster = await AgentCluster.start({
    settings: {
      allowedArtifactPaths: [allowed],
      maxArtifactMegabytes: 8,
      maxTaskArtifactMegabytes: 24,
      maxArtifactFiles: 2_000,
      artifactTimeoutSeconds: 14,
      maxTaskMessageLength: 400,
    },
  });
});
afterAll(async () => {
  await cluster.close();
  server.closeAllConnections();
  server.close();
  outside.remove();
});

const launch = (artifacts: ClusterArtifact[], changes: Partial<LaunchSpec> = {}) =>
  cluster.launch('echo began', { artifacts, user, ...changes });
const failureOf = async (artifacts: ClusterArtifact[], changes?: Partial<LaunchSpec>) =>
  cluster.untilState(await launch(artifacts, changes), 'TASK_FAILED');
const uriOf = (name: string): ClusterArtifact => ({ uri: `${url}/${name}` });
const sizeOf = (spec: LaunchSpec) =>
  Number(execFileSync('du', ['-sm', cluster.sandbox(spec)], { encoding: 'utf8' }).split('\t')[0]);

describe('an archive', () => {
  test.each([
    { name: 'absolute.tar', what: 'an absolute name' },
    { name: 'above.tar', what: 'a name with ..' },
    { name: 'through-link.tar', what: 'a file behind a link of its own' },
    { name: 'hard.tar', what: 'a hard link to a file of the agent' },
    { name: 'hard-above.tar', what: 'a hard link to a name with ..' },
    { name: 'hard-to-link.tar', what: 'a hard link to a link of its own' },
    { name: 'link-and-folder.tar', what: 'a link that becomes a folder' },
    { name: 'absolute.zip', what: 'an absolute name, zipped' },
    { name: 'above.zip', what: 'a name with .., zipped' },
    { name: 'through-link.zip', what: 'a file behind a link of its own, zipped' },
  ])('with $what puts nothing outside of the sandbox', async ({ name }) => {
    const spec = await launch([uriOf(name)]);
    await cluster.untilEnd(spec);
    expect(existsSync(join(open, 'pwn'))).toBe(false);
    expect(readdirSync(join(cluster.root, 'sandboxes'))).not.toContain('pwn');
    expect(readFileSync(join(open, 'other.txt'), 'utf8')).toBe('other');
    if (name !== 'hard-to-link.tar') expect(existsSync(cluster.sandbox(spec, 'hard'))).toBe(false);
  });

  test.each([
    ['link.tar', 'pwn.tar'],
    ['link.tar', 'pwn.zip'],
    ['link.zip', 'pwn.tar'],
    ['link.zip', 'pwn.zip'],
  ])('does not lead another one elsewhere: %s, then %s', async (first, second) => {
    const spec = await launch([uriOf(first), uriOf(second)]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(readdirSync(open)).toEqual(['other.txt']);
    expect(readFileSync(cluster.sandbox(spec, 'link/pwn'), 'utf8')).toBe('pwned');
  });

  test('adds to the folders of another one, and replaces its files', async () => {
    const spec = await launch([uriOf('folder.tar'), uriOf('folder.zip')]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    const content = ['a', 'b', 'c'].map((name) => readFileSync(cluster.sandbox(spec, 'folder', name), 'utf8'));
    expect(content).toEqual(['first', 'second', 'second']);
    expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('may close its own folders, and not the one that it is unpacked in', async () => {
    const spec = await launch([uriOf('itself.tar')]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(readFileSync(cluster.sandbox(spec, 'closed/a'), 'utf8')).toBe('a');
    expect(statSync(cluster.sandbox(spec, 'closed')).mode & 0o777).toBe(0o555);
  });

  test.each(['password.zip', 'twice.tar.gz', 'half.tar.gz'])(
    'that cannot be unpacked fails the task: %s',
    async (name) => {
      expect(await failureOf([uriOf(name)])).toContain(`${name}: `);
    },
  );

  test('with holes that are larger than all its files may be fails the task, with smaller ones does not', async () => {
    expect(await failureOf([uriOf('sparse.tar')])).toMatch(/too large|File too large/);
    const spec = await launch([uriOf('some-holes.tar')]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(statSync(cluster.sandbox(spec, 'hole')).size).toBe(4 << 20);
  });

  test.runIf(isRoot)('with a device makes none', async () => {
    const spec = await launch([uriOf('device.tar')]);
    await cluster.untilState(spec, 'TASK_FAILED');
    expect(existsSync(cluster.sandbox(spec, 'null'))).toBe(false);
  });

  test.each([
    { archive: 'link.tar', outputFile: 'link/pwn', says: 'link is no folder of the sandbox' },
    { archive: 'link.tar', outputFile: 'link/folder/pwn', says: 'link is no folder of the sandbox' },
  ])('with a link to a folder does not lead $outputFile there', async ({ archive, outputFile, says }) => {
    const artifacts = [uriOf(archive), { ...uriOf('plain.txt'), outputFile }];
    expect(await failureOf(artifacts)).toContain(says);
    // The same without another user: no right is missing then.
    expect(await failureOf(artifacts, { user: undefined })).toContain(says);
    expect(readdirSync(open)).toEqual(['other.txt']);
  });

  test.each(['link-to-file.tar', 'pipe.tar'])(
    '%s: what it left in the way of a file is replaced, not written to',
    async (name) => {
      const spec = await launch([uriOf(name), { ...uriOf('plain.txt'), outputFile: 'tool' }]);
      await cluster.untilState(spec, 'TASK_FINISHED');
      expect(readFileSync(cluster.sandbox(spec, 'tool'), 'utf8')).toBe('plain');
      expect(readdirSync(open)).toEqual(['other.txt']);
    },
  );

  test('of members without number that are all one file fails the task', async () => {
    expect(await failureOf([uriOf('same.tar.gz')])).toMatch(/larger than 24 MB|more than 2000/);
  });

  test('that is zipped twice is unpacked once', async () => {
    const spec = await launch([uriOf('twice.txt.gz')]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(statSync(cluster.sandbox(spec, 'twice.txt')).size).toBeLessThan(1 << 20);
  });

  test.each(['bomb.gz', 'bomb.tar.gz', 'bomb.tar.xz', 'bomb.tar.bz2', 'bomb.zip'])(
    '%s fails the task before it fills the disk',
    async (name) => {
      const spec = await launch([uriOf(name)]);
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toMatch(/larger than 24 MB|too large|unzip/);
      expect(sizeOf(spec)).toBeLessThan(55);
      expect(cluster.processes()).toEqual([]);
    },
  );

  test('may not take more than the disk of its task', async () => {
    expect(await failureOf([uriOf('bomb.gz')], { diskMb: 3 })).toContain('larger than 3 MB');
  });

  test.each(['many.tar.gz', 'many.zip'])('of very many files fails the task: %s', async (name) => {
    expect(await failureOf([uriOf(name)])).toMatch(
      /^The files of the task are more than 2000, cluster\.local\.maxArtifactFiles/,
    );
  });
});

describe('a server', () => {
  test('that never ends a file fails the task', async () => {
    const spec = await launch([uriOf('endless')]);
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('is larger than 8 MB');
  });

  test.each(['slow', 'silent'])('that is %s fails the task in time', async (name) => {
    expect(await failureOf([uriOf(name)])).toContain('took longer than 14 s');
  });

  test('whose answer is not waited for any more is left at a kill', async () => {
    const spec = await launch([uriOf('slow')]);
    await cluster.fileOf(spec, 'slow');
    await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toBe('Killed before start');
    expect(cluster.processes()).toEqual([]);
  });

  test('does not send the agent to its own files', async () => {
    expect(await failureOf([uriOf('to-file')])).toContain('/to-file: ');
  });
});

describe('files of the machine', () => {
  const own = `${allowed}/fine.txt`;
  test.each([own, `file://${own}`])('below a folder that is allowed are copied: %s', async (uri) => {
    const spec = await launch([{ uri }]);
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(readFileSync(cluster.sandbox(spec, 'fine.txt'), 'utf8')).toBe('fine');
    if (isRoot) expect(statSync(cluster.sandbox(spec, 'fine.txt')).uid).not.toBe(0);
  });

  test.each([
    ['elsewhere', join(open, 'other.txt')],
    ['behind a link', join(allowed, 'link.txt')],
    ['above', join(allowed, '..', 'open', 'other.txt')],
    ['that are pipes', join(allowed, 'pipe.txt')],
    ['that are devices', '/dev/zero'],
    ['that are folders', allowed],
  ])('%s are not, and the setting is named', async (_what, uri) => {
    expect(await failureOf([{ uri, outputFile: 'x' }])).toContain('cluster.local.allowedArtifactPaths');
  });

  test.runIf(isRoot)('that the user of the task may not read are not', async () => {
    expect(await failureOf([{ uri: join(allowed, 'closed.txt') }])).toContain('permission denied');
    expect(await failureOf([{ uri: join(outside.path, 'secret') }])).toContain('permission denied');
  });
});

test.runIf(isRoot)('whatever fetches and unpacks is the user of the task, without a way to more rights', async () => {
  const spec = await launch([uriOf('slow')]);
  await cluster.fileOf(spec, 'slow');
  const status = cluster.processes().map(({ pid }) => readFileSync(`/proc/${pid}/status`, 'utf8'));
  expect(status.length).toBeGreaterThan(0);
  for (const text of status) {
    expect(text).toMatch(/^Uid:(\s+65534){4}$/m);
    expect(text).toMatch(/^Groups:\s*$/m);
    expect(text).toMatch(/^CapEff:\s+0+$/m);
    expect(text).toMatch(/^NoNewPrivs:\s+1$/m);
  }
  await cluster.driver.kill(spec.taskId, 's1', 0, 1);
  await cluster.untilState(spec, 'TASK_KILLED');
});
