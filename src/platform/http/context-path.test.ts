import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.js';
import type { ClusterDriver } from '../../cluster/cluster-driver.js';
import { Leadership } from '../leadership/leadership.js';
import { SettingsFile } from '../settings/settings.js';

const start = (file: object): Promise<TestApp<ClusterDriver>> => startTestApp({ settings: SettingsFile.parse(file) });
const get = (url: string, init: RequestInit = {}): Promise<Response> => fetch(url, { redirect: 'manual', ...init });
const status = async (url: string, init?: RequestInit): Promise<number> => (await get(url, init)).status;

describe('below a context path', () => {
  let app: TestApp<ClusterDriver>;
  let root: string;
  beforeAll(async () => {
    app = await start({ http: { contextPath: '/singularity' } });
    root = new URL(app.url).origin;
  });
  afterAll(() => app.close());

  test('the service says so wherever it says where it is', async () => {
    expect(app.url).toBe(`${root}/singularity`);
    expect(await app.app.get(Leadership).leaderAddress()).toBe(app.url);
    expect(await (await get(`${app.url}/api/state`)).json()).toMatchObject({
      hostStates: [{ hostAddress: new URL(root).host }],
    });
  });

  test('the API is there, by its aliases and in the document, too, and nowhere else', async () => {
    for (const path of ['/api/requests', '/api/requests/', '/api/agents', '/api/openapi.json', '/metrics', '/healthz'])
      expect([path, await status(app.url + path)]).toEqual([path, 200]);
    for (const path of [
      '/api/requests',
      '/api/agents',
      '/api/openapi.json',
      '/docs',
      '/ui',
      '/singularit/api/requests',
    ])
      expect([path, await status(root + path)]).toEqual([path, 404]);
    const refused = await get(`${root}/api/requests`);
    expect(await refused.json()).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      message: 'There is nothing outside of /singularity, the context path of this service',
      requestId: refused.headers.get('x-request-id'),
    });
    const changed = { method: 'POST', body: '{"id":"a","requestType":"WORKER"}' };
    const headers = { 'content-type': 'application/json' };
    expect(await status(`${root}/api/requests`, { ...changed, headers })).toBe(404);
    expect(await status(`${app.url}/api/requests`, { ...changed, headers })).toBe(200);
    expect(await status(`${app.url}/api/requests/request/a`)).toBe(200);
  });

  test('probes and figures answer at the root, too', async () => {
    for (const path of ['/healthz', '/healthz/', '/readyz', '/metrics?x=1'])
      expect([path, await status(root + path), await status(app.url + path)]).toEqual([path, 200, 200]);
    expect(await status(`${root}/metricsx`)).toBe(404);
    expect(await status(`${root}/healthz/x`)).toBe(404);
  });

  test('the page is found from both roots, with everything that it needs', async () => {
    for (const home of [root, `${root}/`, app.url, `${app.url}/`, `${app.url}?x=1`]) {
      const { status: code, headers } = await get(home);
      expect([home, code, headers.get('location')]).toEqual([home, 302, '/singularity/ui']);
    }
    const page = await (await get(`${app.url}/ui/request/web`)).text();
    const addresses = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, address]) => address!);
    const within = addresses.filter((address) => !address.startsWith('data:'));
    expect(within.length).toBeGreaterThan(4);
    for (const address of within) {
      expect(address).toMatch(/^\/singularity\//);
      expect([address, await status(root + address)]).toEqual([address, 200]);
    }
    expect(page).toContain('"apiRoot":"/singularity/api"');
  });

  test('the page of the documents finds its files and calls below it', async () => {
    const page = await (await get(`${app.url}/docs`)).text();
    const files = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].map(
      ([, address]) => new URL(address!, `${app.url}/docs`),
    );
    expect(files.length).toBeGreaterThan(3);
    for (const { href } of files) {
      expect(href).toMatch(`${app.url}/`);
      expect([href, await status(href)]).toEqual([href, 200]);
    }
    const document = (await (await get(`${app.url}/docs/openapi.json`)).json()) as { servers: unknown; paths: object };
    expect(document.servers).toEqual([{ url: '/singularity' }]);
    expect(document.paths).toHaveProperty('/api/requests');
    expect(await (await get(`${app.url}/api/openapi.json`)).json()).toEqual(document);
  });

  test('the next page of a list is named as it is to be asked for', async () => {
    for (const id of ['p1', 'p2'])
      await fetch(`${app.url}/api/requests`, {
        method: 'POST',
        body: JSON.stringify({ id, requestType: 'WORKER' }),
        headers: { 'content-type': 'application/json' },
      });
    const first = await get(`${app.url}/api/requests?limit=1&cursor=*`);
    const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1];
    expect(link).toMatch(/^\/singularity\/api\/requests\?/);
    expect(await (await get(root + link)).json()).toHaveLength(1);
  });

  test('a page of another origin changes nothing', async () => {
    const call = (headers: Record<string, string>) =>
      status(`${app.url}/api/notifications/unsubscribe`, { method: 'POST', body: 'a@b.example', headers });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await call({ ...form, origin: 'https://evil.example' })).toBe(403);
    expect(await call({ ...form, origin: 'null' })).toBe(403);
    expect(await call({ ...form, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await (await get(`${app.url}/api/notifications/blacklist`)).json()).toEqual([]);
  });
});

test('calls below it take the places that others take', async () => {
  const app = await start({ http: { contextPath: '/a/b', maxConcurrentCalls: 0, placesForAdministrators: 0 } });
  expect(await status(`${app.url}/api/requests`)).toBe(503);
  expect(await status(`${app.url}/healthz`)).toBe(200);
  await app.close();
});

test('a proxy that has another root for the service is named in the page and the documents', async () => {
  const app = await start({ http: { contextPath: '/inner' }, ui: { baseUrl: 'https://muster.example/outer/' } });
  expect((await get(app.url)).headers.get('location')).toBe('/outer/ui');
  expect(await (await get(`${app.url}/docs/openapi.json`)).json()).toMatchObject({
    servers: [{ url: 'https://muster.example/outer' }],
  });
  await app.close();
});

describe('the setting', () => {
  const read = (contextPath: string) => SettingsFile.safeParse({ http: { contextPath } });
  test.each(['', '/singularity', '/a/b', '/a.b/c-d_e~1', '/api'])('%j can be one', (path) =>
    expect(read(path).success).toBe(true),
  );
  test.each([
    '/',
    'a',
    '/a/',
    'a/b',
    '//a',
    '/a//b',
    '/..',
    '/a/../b',
    '/.',
    '/a?b',
    '/a#b',
    '/a%2fb',
    '/a b',
    '/ä',
    '\\a',
  ])('%j cannot', (path) => expect(read(path).success).toBe(false));
  test.each(['/healthz', '/readyz', '/metrics'])('%j is taken', (path) => expect(read(path).success).toBe(false));
});
