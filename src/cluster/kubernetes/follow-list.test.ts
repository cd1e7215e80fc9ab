import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { StaleEpochError } from '../cluster-driver.js';
import { followList, listAll } from './follow-list.js';
import { ApiRefused, ApiUnreachable, KubernetesApi } from './kubernetes-api.js';
import { LeaderLease } from './leader-lease.js';
import type { Pod } from './objects.js';

type Answer = (
  request: { url: URL; method: string; body: string; headers: IncomingMessage['headers'] },
  response: ServerResponse,
) => void;

/** An API server that answers as the test says, and the way to it. */
async function apiServer(
  answer: Answer,
  { proxy, onFile, ...settings }: { proxy?: string; callTimeoutMillis?: number; onFile?: (path: string) => void } = {},
): Promise<KubernetesApi> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method = '', headers } = request;
      answer({ url: new URL(request.url ?? '', 'http://x'), method, body, headers }, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = tempFolder();
  const kubeconfig = join(directory.path, 'kubeconfig');
  onFile?.(kubeconfig);
  const port = (server.address() as AddressInfo).port;
  // Else the library takes no address without TLS.
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true, 'proxy-url': proxy };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'tasks' } }],
      'current-context': 'x',
    }),
  );
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    directory.remove();
  });
  const api = await KubernetesApi.open(KubernetesSettings.parse({ kubeconfig, ...settings }));
  onTestFinished(() => api.close());
  return api;
}
const send = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const pod = (name: string, resourceVersion = '1'): Pod => ({ metadata: { name, resourceVersion } });

/** Notifications of a follower, in their order. */
function follow(api: KubernetesApi) {
  const told: string[] = [];
  const stop = new AbortController();
  const follower = {
    replaced: (items: Pod[]) => void told.push(`list ${items.map(({ metadata }) => metadata?.name).join(',')}`),
    changed: ({ metadata }: Pod) => void told.push(`changed ${metadata?.name}`),
    removed: ({ metadata }: Pod) => void told.push(`removed ${metadata?.name}`),
    heard: () => undefined,
    failed: (message: string) => void told.push(`failed ${message}`),
  };
  const over = followList<Pod>(api, { path: '/pods', query: { labelSelector: 'a=b' } }, follower, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await over;
  });
  return told;
}

test('a follower is not given who wrote which member', async () => {
  const written = (name: string) => ({
    metadata: { name, resourceVersion: '1', managedFields: [{ manager: 'kubelet' }] },
  });
  const api = await apiServer(({ url }, response) => {
    if (!url.searchParams.has('watch'))
      return send(response, { items: [written('a')], metadata: { resourceVersion: '1' } });
    response.write(`${JSON.stringify({ type: 'ADDED', object: written('b') })}\n`);
    response.write(`${JSON.stringify({ type: 'DELETED', object: written('a') })}\n`);
  });
  const given: Pod[] = [];
  const stop = new AbortController();
  const keep = (pod: Pod): void => void given.push(pod);
  const follower = {
    replaced: (pods: Pod[]) => pods.forEach(keep),
    changed: keep,
    removed: keep,
    heard: () => undefined,
    failed: () => undefined,
  };
  const followed = followList<Pod>(api, { path: '/api/v1/pods', query: {} }, follower, stop.signal);
  await waitFor('what the server tells', () => given.length === 3);
  stop.abort();
  await followed;
  expect(given.map(({ metadata }) => metadata)).toEqual(
    ['a', 'b', 'a'].map((name) => ({ name, resourceVersion: '1' })),
  );
});

test('a list comes in pages, with credentials, and namespace and address are those of the context', async () => {
  const seen: string[] = [];
  const api = await apiServer(({ url, headers }, response) => {
    seen.push(`${url.search} ${headers.authorization}`);
    const isLast = url.searchParams.has('continue');
    send(response, {
      metadata: { resourceVersion: '7', ...(!isLast && { continue: 'c' }) },
      items: [pod(isLast ? 'b' : 'a')],
    });
  });
  const { items, resourceVersion } = await listAll<Pod>(api, '/pods', {});
  expect(items.map(({ metadata }) => metadata?.name)).toEqual(['a', 'b']);
  expect(resourceVersion).toBe('7');
  expect(seen).toEqual(['?limit=500 Bearer secret', '?limit=500&continue=c Bearer secret']);
  expect(api.namespace).toBe('tasks');
});

test('calls and watches go through the proxy of the kubeconfig, and one that is none is refused', async () => {
  const asked: string[] = [];
  const proxy = createServer().on('connect', (wanted, near: Socket) => {
    asked.push(wanted.headers['proxy-authorization'] ?? '');
    const far = connect(Number(wanted.url!.split(':')[1]), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 OK\r\n\r\n');
      near.pipe(far).pipe(near);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const api = await apiServer(
    ({ url }, response) => {
      if (url.searchParams.has('watch'))
        return void response.write(`${JSON.stringify({ type: 'ADDED', object: pod('b', '2') })}\n`);
      send(response, { metadata: { resourceVersion: '1' }, items: [pod('a')] });
    },
    { proxy: `http://me:secret@${address}` },
  );
  const told = follow(api);
  await waitFor('the watch', () => told.includes('changed b'));
  expect(told).toEqual(['list a', 'changed b']);
  expect(new Set(asked)).toEqual(new Set([`Basic ${Buffer.from('me:secret').toString('base64')}`]));
  await expect(apiServer(() => undefined, { proxy: `socks5://${address}` })).rejects.toThrow(
    'names a proxy that is not',
  );
});

test('a watch that ends goes on where it was, and one whose place is forgotten begins anew', async () => {
  const asked: string[] = [];
  const api = await apiServer(({ url }, response) => {
    const from = url.searchParams.get('resourceVersion');
    if (url.searchParams.get('watch') === null) {
      asked.push('list');
      return void send(response, {
        metadata: { resourceVersion: asked.length === 1 ? '10' : '20' },
        items: [pod('a')],
      });
    }
    asked.push(`watch ${from} ${url.searchParams.get('labelSelector')}`);
    const event = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;
    if (from === '10') {
      const text = event('ADDED', pod('b', '11')) + event('BOOKMARK', pod('', '12'));
      // In the middle of a line, too.
      response.write(text.slice(0, 20));
      return void setImmediate(() => response.end(text.slice(20)));
    }
    if (from === '12') return void response.end(event('DELETED', pod('b', '13')));
    if (from === '13') return void response.end(event('ERROR', { code: 410, message: 'too old' }));
    if (from === '20') return void response.write(event('MODIFIED', pod('a', '21')));
  });
  const told = follow(api);
  await waitFor('the last event', () => told.includes('changed a'));
  expect(told).toEqual(['list a', 'changed b', 'removed b', 'list a', 'changed a']);
  expect(asked).toEqual(['list', 'watch 10 a=b', 'watch 12 a=b', 'watch 13 a=b', 'list', 'watch 20 a=b']);
});

test.each(['status', 'event'] as const)(
  'a server that forgets every place at once (410 as %s) gives its list ever more rarely, and all of it',
  async (how) => {
    const listedAt: number[] = [];
    const api = await apiServer(({ url }, response) => {
      if (url.searchParams.get('watch') === null) {
        listedAt.push(performance.now());
        const metadata = { resourceVersion: String(listedAt.length) };
        return void send(response, { metadata, items: [pod(`pod-${listedAt.length}`)] });
      }
      if (how === 'status') return void send(response, { reason: 'Expired', message: 'too old' }, 410);
      response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 410, message: 'too old' } })}\n`);
    });
    const told = follow(api);
    await waitFor('six lists', () => told.length === 6);
    expect(told).toEqual(listedAt.slice(0, 6).map((_at, index) => `list pod-${index + 1}`));
    // Pauses of 100, 200, 400, 800 and 1,600 ms, each by half longer or shorter.
    const [first = 0, , , , fifth = 0, sixth = 0] = listedAt;
    expect(sixth - fifth).toBeGreaterThanOrEqual(800);
    expect(fifth - first).toBeGreaterThanOrEqual(750);
  },
);

test('a connection that breaks is taken up again after the last thing that was heard', async () => {
  let isBroken = false;
  const api = await apiServer(({ url }, response) => {
    const from = url.searchParams.get('resourceVersion');
    if (from === null) return void send(response, { metadata: { resourceVersion: '1' }, items: [] });
    if (from === '1') {
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod('a', '2') })}\n`);
      return void setTimeout(() => {
        isBroken = true;
        response.destroy();
      }, 50);
    }
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod(`after ${from}`, '3') })}\n`);
  });
  const told = follow(api);
  await waitFor('the second watch', () => told.includes('changed after 2'));
  expect(isBroken).toBe(true);
  expect(told.filter((each) => each.startsWith('list'))).toHaveLength(1);
});

test('a server that is away, or refuses, is asked again', async () => {
  let calls = 0;
  const api = await apiServer((_request, response) => {
    calls += 1;
    if (calls === 1) return void response.destroy();
    if (calls === 2) return void send(response, { reason: 'Forbidden', message: 'you may not' }, 403);
    send(response, { metadata: { resourceVersion: '1' }, items: [pod('a')] });
  });
  const told = follow(api);
  await waitFor('the list', () => told.includes('list a'));
  expect(told.slice(0, 2)).toEqual([expect.stringMatching(/^failed No answer/), 'failed you may not']);
});

test('credentials that are not taken any more are read anew, at most once a second', async () => {
  const seen: string[] = [];
  let file = '';
  const api = await apiServer(
    ({ headers }, response) => {
      const { authorization = '' } = headers;
      seen.push(authorization);
      if (authorization === 'Bearer renewed') return void send(response, { items: [] });
      send(response, { reason: 'Unauthorized', message: 'Unauthorized' }, 401);
    },
    { onFile: (path) => (file = path) },
  );
  await expect(api.call('/pods')).rejects.toMatchObject({ status: 401 });
  const config = JSON.parse(readFileSync(file, 'utf8')) as { users: { user: { token: string } }[] };
  config.users[0]!.user.token = 'renewed';
  // As it is while another writes it.
  writeFileSync(file, '');
  await waitFor('the empty file to be read', () =>
    api.call('/pods').then(
      () => false,
      (cause: unknown) => cause instanceof ApiUnreachable,
    ),
  );
  writeFileSync(file, JSON.stringify(config));
  await waitFor('the new token', () => api.call('/pods').then(() => true));
  expect(new Set(seen)).toEqual(new Set(['Bearer secret', 'Bearer renewed']));
});

test('an answer that is refused, late, or none is told apart', async () => {
  const api = await apiServer(
    ({ url }, response) => {
      if (url.pathname === '/refused')
        return void send(response, { reason: 'AlreadyExists', message: 'is there' }, 409);
      if (url.pathname === '/page') return void response.writeHead(502).end('<html>');
      if (url.pathname === '/text') return void response.end('no JSON');
    },
    { callTimeoutMillis: 300 },
  );
  await expect(api.call('/refused')).rejects.toMatchObject({
    status: 409,
    reason: 'AlreadyExists',
    message: 'is there',
  });
  await expect(api.call('/page')).rejects.toThrow(ApiRefused);
  await expect(api.call('/text')).rejects.toThrow(ApiUnreachable);
  await expect(api.call('/late')).rejects.toThrow(ApiUnreachable);
});

test('the lease belongs to the highest epoch, whoever writes meanwhile', async () => {
  let lease: { metadata: { annotations: Record<string, string>; resourceVersion: string } } | undefined;
  let version = 0;
  let rival: string | undefined;
  const api = await apiServer(({ method, body, url }, response) => {
    expect(url.pathname).toMatch(/^\/apis\/coordination.k8s.io\/v1\/namespaces\/tasks\/leases/);
    if (method === 'GET') return void (lease ? send(response, lease) : send(response, { reason: 'NotFound' }, 404));
    const given = JSON.parse(body) as NonNullable<typeof lease>;
    if (rival !== undefined && lease) {
      lease = { metadata: { annotations: { 'muster/epoch': rival }, resourceVersion: String(++version) } };
      rival = undefined;
    }
    if (method === 'POST' ? lease : given.metadata.resourceVersion !== lease?.metadata.resourceVersion)
      return void send(response, { reason: 'Conflict' }, 409);
    lease = { metadata: { ...given.metadata, resourceVersion: String(++version) } };
    send(response, lease);
  });
  const mine = new LeaderLease(api, 'tasks', 'muster');
  await mine.take(3);
  await mine.take(3);
  await mine.check(3);
  await expect(mine.take(2)).rejects.toThrow(StaleEpochError);
  await expect(mine.check(2)).rejects.toMatchObject({ epoch: 2, highest: 3 });
  rival = '4';
  await mine.take(5);
  expect(lease?.metadata.annotations['muster/epoch']).toBe('5');
  rival = '9';
  await expect(mine.take(6)).rejects.toMatchObject({ highest: 9 });
});
