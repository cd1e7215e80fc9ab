import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, chmodSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import type { ExternalArtifact } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { waitFor } from '../support/wait-for.js';

const isRoot = userInfo().uid === 0;
let server: Server;
let url: string;
/** Paths that were asked for. */
let asked: string[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');
const megabyte = (fill: string) => Buffer.alloc(1 << 20, fill);
const askedFor = (path: string) => asked.filter((each) => each === path).length;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  answer = (request, response) => void response.end(`content of ${request.url}`);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

let cluster: AgentCluster;
const start = async (settings: object = {}, options: object = {}) => {
  cluster = await AgentCluster.start({
    settings: { maxTaskMessageLength: 400, artifactCacheMegabytes: 3, maxArtifactMegabytes: 8, ...settings },
    ...options,
  });
};
afterEach(() => cluster.close());

const managed = (cmd: string, externalArtifacts: ExternalArtifact[], changes: Partial<LaunchSpec> = {}) => ({
  executorData: { cmd, externalArtifacts },
  command: { shell: true, value: cmd, arguments: [] },
  ...changes,
});
const external = (path: string, content: string | Buffer, changes: ExternalArtifact = {}): ExternalArtifact => ({
  filename: path.slice(1),
  url: url + path,
  md5sum: md5(content),
  ...changes,
});
const serviceLog = (spec: LaunchSpec) =>
  readFileSync(cluster.sandbox(spec, spec.taskId.replaceAll(':', '_'), 'tail_of_finished_service.log'), 'utf8');
const finished = async (spec: LaunchSpec) => {
  await cluster.untilState(spec, 'TASK_FINISHED');
  return spec;
};
const artifacts = () => join(cluster.root, 'artifacts');
const kept = () => readdirSync(join(artifacts(), 'kept'));
const underway = () => readdirSync(join(artifacts(), 'new'));

describe('a file with an md5', () => {
  test('is fetched once for tasks that ask at the same moment, and for later ones', async () => {
    await start();
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    answer = (_request, response) => void gate.then(() => response.end('shared'));
    const launch = (requestId: string) =>
      cluster.launch('', { ...managed('cat ../a', [external('/a', 'shared')]), requestId });
    const specs = await Promise.all([launch('one'), launch('one'), launch('other')]);
    await waitFor('the download', () => askedFor('/a') > 0);
    release();
    for (const spec of specs) expect(serviceLog(await finished(spec))).toBe('shared');
    expect(serviceLog(await finished(await launch('third')))).toBe('shared');
    expect(askedFor('/a')).toBe(1);
    expect(kept().length).toBe(1);
    expect(underway()).toEqual([]);
  });

  test('is unpacked from the cache', async () => {
    await start();
    const archive = gzipSync(tarOf([{ name: 'inner.txt', content: 'packed' }]));
    answer = (_request, response) => void response.end(archive);
    const data = managed('cat ../inner.txt', [external('/a.tar.gz', archive)]);
    for (const _ of [1, 2]) expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('packed');
    expect(askedFor('/a.tar.gz')).toBe(1);
  });

  test('is another one by another md5, size or source', async () => {
    await start();
    answer = (_request, response) => void response.end('x');
    await finished(await cluster.launch('', managed('true', [external('/a', 'x')])));
    const others = [external('/b', 'x'), external('/a', 'x', { filesize: 1 })];
    await finished(await cluster.launch('', managed('true', others)));
    expect(asked.toSorted()).toEqual(['/a', '/a', '/b']);
    const wrong = await cluster.launch('', managed('true', [external('/a', 'y')]));
    expect(await cluster.untilState(wrong, 'TASK_FAILED')).toBe(`a: md5 ${md5('x')} instead of ${md5('y')}`);
    expect(kept().length).toBe(3);
  });

  test('cannot be changed by a task that has got it', async () => {
    await start();
    const data = managed('sh -c "chmod 600 ../a; echo spoilt >>../a; cat ../a"', [external('/a', 'whole\n')]);
    answer = (_request, response) => void response.end('whole\n');
    for (const _ of [1, 2]) expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('whole\nspoilt\n');
    expect(askedFor('/a')).toBe(1);
    const [name = ''] = kept();
    const { mode, uid, nlink } = statSync(join(artifacts(), 'kept', name));
    expect([mode & 0o777, uid, nlink]).toEqual([0o444, process.getuid?.(), 1]);
    expect(statSync(join(artifacts(), 'kept')).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['cut short', (path: string) => truncateSync(path, 2)],
    ['changed', (path: string) => appendFileSync(path, 'x')],
  ])('that was %s on the disk is fetched anew', async (_what, spoil) => {
    await start();
    answer = (_request, response) => void response.end('whole');
    const data = managed('cat ../a', [external('/a', 'whole')]);
    await finished(await cluster.launch('', data));
    const path = join(artifacts(), 'kept', kept()[0]!);
    chmodSync(path, 0o600);
    spoil(path);
    expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('whole');
    expect(askedFor('/a')).toBe(2);
  });

  test('fails every task that waits for it when it cannot be had, and is tried again for the next', async () => {
    await start();
    let isThere = false;
    answer = (_request, response) => void (isThere ? response.end('x') : response.writeHead(404).end());
    const data = managed('cat ../a', [external('/a', 'x')]);
    const specs = await Promise.all([cluster.launch('', data), cluster.launch('', data)]);
    for (const spec of specs) expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('/a: HTTP 404');
    const reasons = cluster.seen.updates.filter(({ state }) => state === 'TASK_FAILED').map(({ reason }) => reason);
    expect(reasons).toEqual(['REASON_CONTAINER_LAUNCH_FAILED', 'REASON_CONTAINER_LAUNCH_FAILED']);
    isThere = true;
    expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('x');
    expect(kept().length).toBe(1);
    expect(underway()).toEqual([]);
  });
});

describe('a file without an md5', () => {
  test('is kept when it is asked for, for tasks of its request only', async () => {
    await start();
    let version = 0;
    answer = (_request, response) => void response.end(`version ${++version}`);
    const run = async (requestId: string, cache?: boolean) =>
      cluster.output(await cluster.run('cat a', { requestId, artifacts: [{ uri: `${url}/a`, cache }] }));
    expect(await run('mine', true)).toBe('version 1');
    expect(await run('mine', true)).toBe('version 1');
    expect(await run('another', true)).toBe('version 2');
    expect(await run('mine')).toBe('version 3');
    expect(await run('mine', true)).toBe('version 1');
  });

  test('is put in its place like one that is not kept', async () => {
    await start();
    const archive = gzipSync(tarOf([{ name: 'inner.txt', content: 'packed' }]));
    answer = (_request, response) => void response.end(archive);
    const of = (changes: object) => ({ uri: `${url}/a.tgz`, cache: true, ...changes });
    const downloads = [
      of({}),
      of({ outputFile: 'bin/tool', executable: true }),
      of({ outputFile: 'b.tgz', extract: false }),
    ];
    const spec = await cluster.run('cat inner.txt; test -x bin/tool && ls a.tgz b.tgz', { artifacts: downloads });
    expect(cluster.output(spec)).toBe('packeda.tgz\nb.tgz\n');
    expect(askedFor('/a.tgz')).toBe(1);
  });

  test('is fetched for each task otherwise', async () => {
    await start();
    const data = managed('true', [{ filename: 'a', url: `${url}/a` }]);
    for (const _ of [1, 2]) await finished(await cluster.launch('', data));
    expect(askedFor('/a')).toBe(2);
    expect(kept()).toEqual([]);
  });
});

test('the oldest go when there are too many, and never one that a task is getting', async () => {
  await start({ artifactCacheMegabytes: 2 });
  const fill = (path: string) => megabyte(path.slice(1, 2));
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  answer = (request, response) =>
    void (request.url === '/slow' ? gate.then(() => response.end('slow')) : response.end(fill(request.url ?? '')));
  const of = (...paths: string[]) =>
    managed(
      'true',
      paths.map((path) => external(path, path === '/slow' ? 'slow' : fill(path))),
    );
  const run = async (...paths: string[]) => finished(await cluster.launch('', of(...paths)));
  await run('/a');
  const waits = await cluster.launch('', of('/a', '/slow'));
  await waitFor('the slow one', () => askedFor('/slow') > 0);
  await run('/b', '/c');
  expect(kept().length).toBe(2);
  release();
  await finished(waits);
  await run('/a');
  expect(asked.filter((path) => path !== '/slow').toSorted()).toEqual(['/a', '/b', '/c']);
}, 90_000);

describe('a kill during the preparation', () => {
  test('ends a download that no other task waits for', async () => {
    await start();
    let isClosed = false;
    answer = (request) => void request.socket.on('close', () => (isClosed = true));
    const spec = await cluster.launch('', managed('true', [external('/hangs', 'x')]));
    await waitFor('the download', () => askedFor('/hangs') > 0);
    await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toBe('Killed before start');
    await waitFor('the end of the download', () => isClosed && underway().length === 0);
  });

  test('leaves it to the others', async () => {
    await start();
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    answer = (_request, response) => void gate.then(() => response.end('x'));
    const data = managed('cat ../a', [external('/a', 'x')]);
    const [first, second] = [await cluster.launch('', data), await cluster.launch('', data)];
    await waitFor('the download', () => askedFor('/a') > 0);
    await cluster.driver.kill(first.taskId, 's1', 60_000, 1);
    await cluster.untilState(first, 'TASK_KILLED');
    release();
    expect(serviceLog(await finished(second))).toBe('x');
    expect(askedFor('/a')).toBe(1);
  });
});

test('a task waits for a shared file no longer than for its own', async () => {
  await start({ artifactTimeoutSeconds: 1 });
  answer = (_request, response) => void setInterval(() => response.write('x'), 50).unref();
  const spec = await cluster.launch('', managed('true', [external('/slow', 'x')]));
  expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('took longer than 1 s');
});

test.runIf(isRoot)('who fetches is a user that no task has, and sees nothing of the cache', async () => {
  await start();
  answer = () => {};
  const spec = await cluster.launch('', managed('true', [external('/hangs', 'x')]));
  await waitFor('the download', () => askedFor('/hangs') > 0);
  const [name = ''] = underway();
  const { uid, mode } = statSync(join(artifacts(), 'new', name));
  expect(uid).toBeGreaterThan(1_000_000);
  expect(mode & 0o777).toBe(0o700);
  expect(uid).not.toBe(statSync(cluster.sandbox(spec)).uid);
  await cluster.driver.kill(spec.taskId, 's1', 0, 1);
  await cluster.untilState(spec, 'TASK_KILLED');
});

test('an agent that is killed in the middle of a download leaves no half file, and the next one no trace', async () => {
  await start({}, { program: agentProgram });
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': 100_000 });
    response.write('half');
  };
  const data = managed('cat ../a', [external('/a', 'whole')]);
  const interrupted = await cluster.launch('', data);
  await waitFor('half of it', () =>
    underway().some((name) => statSync(join(artifacts(), 'new', name, 'content')).size > 0),
  );
  await cluster.killAgent();
  await cluster.startAgent();
  expect(await cluster.untilState(interrupted, 'TASK_LOST')).toContain('before the task was started');
  expect([kept(), underway()]).toEqual([[], []]);
  answer = (_request, response) => void response.end('whole');
  expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('whole');
  await cluster.killAgent();
  await cluster.startAgent();
  expect(serviceLog(await finished(await cluster.launch('', data)))).toBe('whole');
  expect(askedFor('/a')).toBe(2);
});
