import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceEndpoints } from '../../src/core/discovery/index.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { failedCalls, LoadTool } from '../bench/rollout/load-tool.js';
import { muster, program } from '../e2e/support/muster-command.js';
import { Installation, type Instance } from '../e2e/support/product.js';
import { ExampleProxy, isInstalled, type ProxyName } from '../support/proxies/example-proxy.js';
import { readers } from '../support/proxies/readers.js';
import { tempFolder } from '../support/temp-folder.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/** The example of docs/service-discovery.md: nginx and HAProxy, set up by `muster endpoints --watch`. */
const installation = new Installation({ hostname: '127.0.0.1', database: createDatabase });
const folder = tempFolder();
const example = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../examples/discovered/${name}.json`, import.meta.url), 'utf8')) as T;
const children: ChildProcess[] = [];
const proxies: ExampleProxy[] = [];
let instance: Instance;
let env: Record<string, string>;

beforeAll(async () => {
  instance = await installation.start();
  env = { MUSTER_URL: instance.api.url, DATABASE_URL: '' };
  await instance.api.saveRequest(example<Request>('request'));
  await deploy('v1');
}, 120_000);
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await installation.dispose();
  folder.remove();
}, 120_000);

async function deploy(id: 'v1' | 'v2'): Promise<void> {
  await instance.api.deploy({ ...example<{ deploy: Deploy }>(`deploy-${id}`).deploy, id });
  const { deployResult } = await instance.api.deployEnded('discovered', id, 120_000);
  expect(deployResult, JSON.stringify(deployResult)).toMatchObject({ deployState: 'SUCCEEDED' });
}

const path = (name: ProxyName): string => join(folder.path, ExampleProxy.fileOf(name));
const read = (name: ProxyName): string[] => {
  const format = name === 'nginx' ? 'NGINX' : 'HAPROXY';
  return readers[format](readFileSync(path(name), 'utf8'))['discovered']!.toSorted();
};
const served = async (): Promise<ServiceEndpoints['endpoints']> =>
  (await instance.api.get<ServiceEndpoints>('services/discovered/endpoints')).endpoints;
/** Files of both proxies name the endpoints, which are of this deploy and no others. */
const settled = (deployId: string, count: number, names: readonly ProxyName[]): Promise<string[]> =>
  waitFor(
    `${count} endpoints of ${deployId} in the files`,
    async () => {
      const endpoints = await served();
      if (endpoints.length !== count || endpoints.some((one) => one.deployId !== deployId)) return undefined;
      const addresses = endpoints.map(({ host, port }) => `${host}:${port}`).toSorted();
      return names.every((name) => read(name).join() === addresses.join()) ? addresses : undefined;
    },
    { timeoutMillis: 60_000 },
  );

function watch(name: ProxyName, exec = ExampleProxy.reloadOf(name), cwd = folder.path): ChildProcess {
  const words = ['endpoints', 'discovered', '--format', name, '--output', ExampleProxy.fileOf(name), '--watch'];
  const child = spawn(process.execPath, [program, ...words, '--exec', exec], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
}

const both = ['nginx', 'haproxy'] as const;
describe.skipIf(!both.every(isInstalled))('behind nginx and HAProxy', () => {
  test(
    'no call fails while a service is deployed, bounced and scaled, and while Muster is away',
    { timeout: 240_000 },
    async () => {
      for (const name of both) {
        const words = ['endpoints', 'discovered', '--format', name, '--output', path(name)];
        expect(await muster(words, { env })).toMatchObject({ code: 0, out: '' });
        proxies.push(await ExampleProxy.start(name, folder.path));
        watch(name);
      }
      await settled('v1', 3, both);
      const tools = proxies.map(({ url }) => LoadTool.start(url, 50));
      try {
        await deploy('v2');
        await settled('v2', 3, both);
        // The proxy reads its file a moment after it was written.
        const isNew = async (url: string) => (await (await fetch(url)).text()).startsWith('Hello from version 2, ');
        for (const { url } of proxies) await waitFor('an answer of version 2', () => isNew(url));
        const before = await served();
        await instance.api.post('requests/request/discovered/bounce');
        await waitFor('other tasks', async () => {
          const ids = new Set(before.map(({ taskId }) => taskId));
          return (await served()).every(({ taskId }) => !ids.has(taskId));
        });
        await settled('v2', 3, both);
        await instance.api.call('PUT', 'requests/request/discovered/scale', { instances: 1 });
        const one = await settled('v2', 1, both);
        // The files stay as they are while nothing can be read, and follow what happens after that.
        await instance.kill9();
        expect(both.map(read)).toEqual([one, one]);
        instance = await installation.start(['start'], { MUSTER_PORT: String(instance.port) });
        await instance.api.call('PUT', 'requests/request/discovered/scale', { instances: 2 });
        await settled('v2', 2, both);
      } finally {
        const results = await Promise.all(tools.map((tool) => tool.stop()));
        const told = JSON.stringify(results) + proxies.map((proxy) => proxy.log()).join('\n');
        for (const result of results) expect(failedCalls(result), told).toBe(0);
        for (const result of results) expect(result.answered).toBeGreaterThan(500);
      }
    },
  );
});

describe('muster endpoints', () => {
  const run = (...words: string[]) => muster(['endpoints', ...words], { env });
  test('shows where calls go, and why others get none', async () => {
    const [endpoint] = await served();
    const { out, code } = await run('discovered', '--all');
    expect({ code, line: out.split('\n')[1]! }).toEqual({
      code: 0,
      line: expect.stringContaining(`discovered\t${endpoint!.host}:${endpoint!.port}\t${endpoint!.taskId}\track1`),
    });
    expect(JSON.parse((await run('--json')).out)).toMatchObject([
      { requestId: 'discovered', endpoints: expect.arrayContaining([expect.objectContaining(endpoint!)]) },
    ]);
  });

  test('writes a file only if it has changed, and then runs the command', async () => {
    const file = join(folder.path, 'once.conf');
    const write = () => run('discovered', '--format', 'nginx', '-o', file, '--exec', `echo ran >> ${folder.path}/ran`);
    expect(await write()).toMatchObject({ code: 0, err: `${file} has changed\n` });
    const { ino, mode } = statSync(file);
    expect(mode & 0o777).toBe(0o644);
    expect(await write()).toMatchObject({ code: 0, err: '' });
    expect(statSync(file).ino).toBe(ino);
    expect(readFileSync(join(folder.path, 'ran'), 'utf8')).toBe('ran\n');
  });

  test('a command that fails is told, and tried again as long as it does', async () => {
    const { code, err } = await run(
      'discovered',
      '--format',
      'nginx',
      '-o',
      join(folder.path, 'x'),
      '--exec',
      'exit 3',
    );
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('exit 3: ended with code 3\n') });
    const other = tempFolder();
    const child = watch('haproxy', 'test -e ready && touch done', other.path);
    try {
      await waitFor('the file', () => existsSync(join(other.path, 'backends.cfg')));
      expect(existsSync(join(other.path, 'done'))).toBe(false);
      await muster(['endpoints', '--format', 'envoy', '-o', join(other.path, 'ready')], { env });
      await waitFor('the command to be run again', () => existsSync(join(other.path, 'done')));
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      other.remove();
    }
  });

  test.each([
    [['nobody', '--format', 'nginx'], 4, "No request with id 'nobody'"],
    [['--format', 'caddy'], 2, "--format must be one of nginx, haproxy, envoy, traefik, not 'caddy'"],
    [['--format', 'nginx', '--watch'], 2, '--watch and --exec need --output'],
    [['--output', 'x'], 2, '--output needs --format'],
    [['--all'], 2, '--all needs the ids of services, without --group and --format'],
    [['--format', 'nginx', '-o', '/nowhere/x'], 1, 'Cannot write /nowhere/x: there is no such file'],
  ])('%j ends with %i', async (words, code, message) => {
    expect(await run(...words)).toMatchObject({ code, err: `muster: ${message}\n` });
  });
});
