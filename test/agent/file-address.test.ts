import { execFileSync } from 'node:child_process';
import { appendFileSync, linkSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownerOf } from '../../src/agent/sandbox/below.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, occupyPort } from '../support/agent-cluster.js';
import { freePort } from '../support/free-port.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const readToken = 'read-only-0123456789';
const outside = tempFolder();
let cluster: AgentCluster;
let port: number;
let spec: LaunchSpec;
/** As the API tells it: fullPathToRoot. */
let root: string;

beforeAll(async () => {
  port = await freePort();
  cluster = await AgentCluster.start({ settings: { files: { readToken, port } } });
  spec = await cluster.run('', {
    executorData: {
      cmd: 'printf "one\\ntwo\\n"; printf aside >../other.log; printf inner >inner',
      skipLogrotateAndCompress: true,
    },
    command: { shell: true, value: `sh -c 'printf "one\\ntwo\\n"; printf inner >inner'`, arguments: [] },
    environment: { MYSQL_PWD: 's3cr3t' },
  });
  await cluster.untilState(spec, 'TASK_FINISHED');
  root = (await cluster.driver.sandbox(spec.taskId, 's1'))!.root;
  writeFileSync(join(outside.path, 'secret'), 'secret');
});
afterAll(async () => {
  await cluster.close();
  outside.remove();
});

const headers = { 'X-Muster-Read-Token': readToken };
const address = (operation: string, path: string, more = '') =>
  `http://localhost:${port}/files/${operation}?path=${encodeURIComponent(path)}${more}`;
const ask = (operation: string, path: string, more = '', init: RequestInit = {}) =>
  fetch(address(operation, path, more), { ...init, headers: { ...headers, ...init.headers } });
/** Path in the area of the task. Files that the test puts there belong to the user of the task. */
const inArea = (...names: string[]) => join(root, spec.taskId, ...names);
const give = (...names: string[]) =>
  execFileSync('chown', ['-h', String(ownerOf(statSync(root))), ...names.map((name) => inArea(name))]);
const put = (name: string, content: string | Buffer) => {
  writeFileSync(inArea(name), content);
  give(name);
};

test('the older log tool finds a log by what browsing told, and gets it whole', async () => {
  // It joins what the API answers: fullPathToRoot, currentDirectory, which may be empty, and the name.
  for (const path of [`${root}/${spec.taskId}/service.log`, `${root}//${spec.taskId}/service.log`]) {
    const response = await ask('download', path);
    expect([response.status, await response.text()]).toEqual([200, 'one\ntwo\n']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '8',
      'content-disposition': "attachment; filename*=UTF-8''service.log",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    });
  }
});

test('browse lists a folder with absolute paths', async () => {
  const response = await ask('browse', inArea());
  expect(response.headers.get('content-type')).toBe('application/json');
  const entries = (await response.json()) as { name: string; path: string }[];
  expect(entries.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['app', 'executor.log', 'logs', 'service.log', 'tmp']),
  );
  const log = entries.find(({ name }) => name === 'service.log');
  expect(log).toMatchObject({ path: inArea('service.log'), size: 8, mode: '-rw-r--r--', mtime: expect.any(Number) });
  expect(await (await ask('browse', inArea('logs'))).json()).toEqual([]);
});

test.each([
  { more: '', chunk: { data: '', offset: 8, nextOffset: 8 } },
  { more: '&offset=-1', chunk: { data: '', offset: 8, nextOffset: 8 } },
  { more: '&offset=0', chunk: { data: 'one\ntwo\n', offset: 0, nextOffset: 8 } },
  { more: '&offset=4&length=2', chunk: { data: 'tw', offset: 4, nextOffset: 6 } },
  { more: '&offset=99', chunk: { data: '', offset: 8, nextOffset: 8 } },
])('read$more answers a part', async ({ more, chunk }) => {
  expect(await (await ask('read', inArea('service.log'), more)).json()).toEqual(chunk);
});

test('who tails a file gets no half of a character, however it grows', async () => {
  const [begin, rest] = [Buffer.from('a€').subarray(0, 2), Buffer.from('a€').subarray(2)];
  put('growing', begin);
  const at = async (offset: number) => (await ask('read', inArea('growing'), `&offset=${offset}`)).json();
  expect(await at(0)).toEqual({ data: 'a', offset: 0, nextOffset: 1 });
  expect(await at(1)).toEqual({ data: '', offset: 1, nextOffset: 1 });
  appendFileSync(inArea('growing'), rest);
  expect(await at(1)).toEqual({ data: '€', offset: 1, nextOffset: 4 });
});

describe('download', () => {
  test.each([
    { range: 'bytes=4-', status: 206, text: 'two\n', contentRange: 'bytes 4-7/8' },
    { range: 'bytes=-4', status: 206, text: 'two\n', contentRange: 'bytes 4-7/8' },
  ])('of the range $range', async ({ range, status, text, contentRange }) => {
    const response = await ask('download', inArea('service.log'), '', { headers: { range } });
    expect([response.status, await response.text()]).toEqual([status, text]);
    expect(response.headers.get('content-range')).toBe(contentRange);
  });

  test('of a range behind the end is 416', async () => {
    const response = await ask('download', inArea('service.log'), '', { headers: { range: 'bytes=8-' } });
    expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */8']);
  });

  test('HEAD tells the length without the bytes', async () => {
    const response = await ask('download', inArea('service.log'), '', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '8', '']);
  });

  test('of a huge file begins at once, and holds little of it', async () => {
    put('huge', '');
    truncateSync(inArea('huge'), 1024 ** 4);
    const before = process.memoryUsage().rss;
    const leave = new AbortController();
    const response = await ask('download', inArea('huge'), '', { signal: leave.signal });
    expect(response.headers.get('content-length')).toBe(String(1024 ** 4));
    let seen = 0;
    for await (const chunk of response.body!) if ((seen += chunk.length) > 20_000_000) break;
    leave.abort();
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  test('of a file that grows ends at the length it had, and of an empty one at once', async () => {
    put('log', Buffer.alloc(3_000_000, 'x'));
    const response = await ask('download', inArea('log'));
    appendFileSync(inArea('log'), 'more');
    expect((await response.arrayBuffer()).byteLength).toBe(3_000_000);
    put('empty', '');
    expect(await (await ask('download', inArea('empty'))).text()).toBe('');
  });

  test('names a file whatever it is called', async () => {
    const name = `it's "a" (b)*;\u00fc.log`;
    put(name, 'x');
    const response = await ask('download', inArea(name));
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename*=UTF-8''it%27s%20%22a%22%20%28b%29%2a%3B%C3%BC.log`,
    );
    expect(await response.text()).toBe('x');
  });
});

describe('what is not in the sandbox of a task is not there', () => {
  beforeAll(() => {
    mkdirSync(inArea('traps'));
    symlinkSync(join(outside.path, 'secret'), inArea('traps', 'link'));
    symlinkSync(outside.path, inArea('traps', 'folder'));
    symlinkSync('/proc/self/root', inArea('traps', 'proc'));
    execFileSync('mkfifo', [inArea('traps', 'pipe')]);
    execFileSync('chown', ['-R', '-h', String(ownerOf(statSync(root))), inArea('traps')]);
  });

  test.each([
    { what: 'a file of the machine', path: () => '/etc/passwd' },
    { what: 'a way out', path: () => `${root}/../../endpoint.json` },
    { what: 'a way out of all', path: () => `${root}/../../../../../../../../etc/passwd` },
    { what: 'the secret of the agent', path: () => join(cluster.root, 'secret') },
    { what: 'a way from one sandbox into its neighbour', path: () => `${root}/../${spec.taskId}/stdout` },
    { what: 'the folder of all sandboxes', path: () => join(root, '..') },
    { what: 'its name in other words', path: () => `${join(root, '..')}/./` },
    { what: 'a relative path', path: () => `${spec.taskId}/service.log` },
    { what: 'no task', path: () => join(root, '..', 'nobody', 'stdout') },
    { what: 'a name that is none', path: () => `${join(root, '..')}/%E0%/stdout` },
    { what: 'a NUL', path: () => `${root}/a\0b` },
    { what: 'a link out', path: () => inArea('traps', 'link') },
    { what: 'a folder behind a link out', path: () => inArea('traps', 'folder', 'secret') },
    { what: 'the machine through /proc', path: () => inArea('traps', 'proc', 'etc', 'passwd') },
    { what: 'a pipe', path: () => inArea('traps', 'pipe') },
    { what: 'a file that is not there', path: () => inArea('nothing') },
  ])('$what', async ({ path }) => {
    for (const operation of ['browse', 'read', 'download']) {
      const response = await ask(operation, path(), '&offset=0');
      expect([operation, response.status]).toEqual([operation, 404]);
    }
  });

  test('a folder is no file, and a file no folder', async () => {
    expect((await ask('download', inArea('app'))).status).toBe(404);
    expect((await ask('read', inArea('app'))).status).toBe(404);
    expect((await ask('browse', inArea('service.log'))).status).toBe(404);
  });

  test('nor are the files with its variables, by any name', async () => {
    symlinkSync('../deploy.env', inArea('app', 'link'));
    linkSync(inArea('deploy.env'), inArea('hard'));
    for (const name of ['deploy.env', 'runner.sh', 'hard', 'app/link']) {
      expect([name, (await ask('read', inArea(name), '&offset=0')).status]).toEqual([name, 404]);
      expect([name, (await ask('download', inArea(name))).status]).toEqual([name, 404]);
    }
    const listed = (await (await ask('browse', inArea())).json()) as { name: string }[];
    expect(listed.filter(({ name }) => ['deploy.env', 'runner.sh', 'hard'].includes(name))).toEqual([]);
  });
});

describe('who may read', () => {
  const path = () => address('download', inArea('service.log'));

  test.each([
    { what: 'the header', given: headers, status: 200 },
    { what: 'a bearer token', given: { Authorization: `Bearer ${readToken}` }, status: 200 },
    // The older tool sends the same headers to the scheduler, whose token is another.
    {
      what: 'the header beside the token of the API',
      given: { ...headers, Authorization: 'Bearer other' },
      status: 200,
    },
    { what: 'nothing', given: {}, status: 401 },
    { what: 'another token', given: { 'X-Muster-Read-Token': `${readToken}x` }, status: 401 },
    { what: 'the begin of it', given: { 'X-Muster-Read-Token': readToken.slice(0, -1) }, status: 401 },
    { what: 'an empty one', given: { 'X-Muster-Read-Token': '', Authorization: 'Bearer ' }, status: 401 },
    { what: 'a password', given: { Authorization: `Basic ${btoa(`x:${readToken}`)}` }, status: 401 },
  ])('$what: $status', async ({ given, status }) => {
    expect((await fetch(path(), { headers: given as Record<string, string> })).status).toBe(status);
  });

  test('without the token nothing tells whether there is such a file or such a path', async () => {
    const answers = await Promise.all(
      [
        path(),
        address('download', '/etc/passwd'),
        `http://localhost:${port}/x`,
        `http://localhost:${port}/v1/machines`,
      ].map(async (url) => [(await fetch(url)).status, await (await fetch(url)).text()]),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test('with the token there is nothing but files', async () => {
    for (const path of [
      '/',
      '/v1/machines',
      '/files',
      '/files/',
      '/files/download/',
      '//files/download',
      '/files/delete',
    ])
      expect([path, (await fetch(`http://localhost:${port}${path}`, { headers })).status]).toEqual([path, 404]);
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await ask('download', inArea('service.log'), '', { method })).status).toBe(405);
  });

  test.each(['', '?path=', '?path=/x&offset=-2', '?path=/x&offset=1.5', '?path=/x&length=a', '?offset=1'])(
    '%j is 400',
    async (query) => {
      expect((await fetch(`http://localhost:${port}/files/read${query}`, { headers })).status).toBe(400);
    },
  );
});

test('callers that send no call take no place of others', async () => {
  const sockets = Array.from({ length: 100 }, () => connect(port, 'localhost'));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.write('GET /files/browse HTTP/1.1\r\n');
  }
  expect((await ask('browse', inArea())).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

test('downloads that are not read are so many at most, and then others have their turn', async () => {
  put('long', Buffer.alloc(30_000_000));
  const leave = new AbortController();
  const asked = await Promise.all(
    Array.from({ length: 70 }, () => ask('download', inArea('long'), '', { signal: leave.signal })),
  );
  expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200, 503]));
  leave.abort();
  await waitFor('a place', async () => (await ask('browse', inArea())).status === 200);
});

test('without a read token there is no address, and an agent is told so at its start', async () => {
  const start = AgentCluster.start({ settings: { files: { port: await freePort() } } });
  await expect(start).rejects.toThrow('cluster.local.files.readToken');
});

test('a port that another program has keeps the agent from nothing', async () => {
  const taken = await occupyPort();
  const other = await AgentCluster.start({ settings: { files: { readToken, port: taken.port } } });
  try {
    expect(other.log.lines.join()).toContain(`cannot be read at 127.0.0.1:${taken.port} yet`);
    await other.run('echo well');
  } finally {
    await other.close();
    await taken.free();
  }
});
