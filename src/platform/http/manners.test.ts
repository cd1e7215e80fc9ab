import 'reflect-metadata';
import { get as httpGet, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { Controller, Get, Module, Param } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import { afterEach, expect, test } from 'vitest';
import { Query } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { QueryLimit } from './query.js';

class ListQuery {
  @QueryLimit() limit?: number;
}

/** Grows with each look at a deploy. */
let deployed = 0;
/** Calls that wait until the test lets them go. */
let held: (() => void)[] = [];

@Controller()
class Rooms {
  @Get('api/names') names(): string[] {
    return ['c', 'a', 'e', 'b', 'd'];
  }
  @Get('api/rows') rows(@Query() { limit }: ListQuery): unknown[] {
    return ['r3', 'r1', 'r2'].map((id) => ({ request: { id }, gone: null })).slice(0, limit);
  }
  @Get('api/notes') notes(): unknown[] {
    return [2, 1, 3].map((n) => ({ requestId: 'same', n }));
  }
  @Get('api/updates') updates(): unknown[] {
    const of = (id: string, ...states: string[]) => states.map((state) => ({ taskId: { id }, state }));
    return [...of('b', 'running'), ...of('a', 'running', 'launched', 'failed'), ...of('a-1', 'lost')];
  }
  @Get('api/deploys') deploys(): unknown[] {
    return ['b', 'a'].map((requestId) => ({ deployMarker: { requestId, deployId: 'd' }, progress: deployed++ }));
  }
  @Get('api/requests/request/:id') request(@Param('id') id: string): unknown {
    return { id };
  }
  @Get('api/large') large(): string[] {
    return ['x'.repeat(1_100_000)];
  }
  @Get('api/slow') async slow(): Promise<string> {
    await new Promise<void>((resolve) => held.push(resolve));
    return 'done';
  }
  @Get('healthz') healthy(): string {
    return 'ok';
  }
}
@Module({ controllers: [Rooms] })
class TestModule {}

let app: NestExpressApplication;
let url: string;
async function start(settings: Record<string, unknown> = {}): Promise<void> {
  app = await startHttpApp(TestModule, settings);
  url = await app.getUrl();
}
afterEach(async () => {
  for (const release of held.splice(0)) release();
  await app.close();
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });
async function allPages(path: string, limit: number): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  for (let next: string | null = `${path}?limit=${limit}&cursor=*`; next;) {
    const answer: Response = await get(next);
    pages.push((await answer.json()) as unknown[]);
    next = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? null;
  }
  return pages;
}

test('a list in pages is in the order of its ids, each member once', async () => {
  await start();
  expect(await allPages('/api/names', 2)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(await allPages('/api/rows', 2)).toEqual([
    [{ request: { id: 'r1' } }, { request: { id: 'r2' } }],
    [{ request: { id: 'r3' } }],
  ]);
  expect((await allPages('/api/notes', 1)).flat()).toHaveLength(3);
});

test.each([1, 2, 3, 4])('records of one id are told apart by what they say: %i to a page', async (limit) => {
  await start();
  const found = (await allPages('/api/updates', limit)).flat() as { taskId: { id: string }; state: string }[];
  expect(found.map(({ taskId, state }) => `${taskId.id} ${state}`)).toEqual([
    'a failed',
    'a launched',
    'a running',
    'a-1 lost',
    'b running',
  ]);
});

test('a record that changes between two pages comes once', async () => {
  await start();
  const found = (await allPages('/api/deploys', 1)).flat() as { deployMarker: { requestId: string } }[];
  expect(found.map(({ deployMarker }) => deployMarker.requestId)).toEqual(['a', 'b']);
});

test('without a cursor a list stays as it is, and its own limit is its own affair', async () => {
  await start();
  expect(await (await get('/api/names?limit=2')).json()).toEqual(['c', 'a', 'e', 'b', 'd']);
  expect(await (await get('/api/rows?limit=1&cursor=')).json()).toEqual([{ request: { id: 'r3' } }]);
});

test.each([
  ['limit=-1&cursor=*', 'limit'],
  ['limit=x&cursor=*', 'limit'],
  ['limit=10001&cursor=*', 'limit'],
  ['cursor=%25%25', 'cursor'],
  ['cursor=abc', 'cursor'],
  ['cursor=1', 'cursor'],
  ['cursor=AA', 'cursor'],
  ['cursor=YQ==', 'cursor'],
  ['cursor=*&cursor=YQ', 'cursor'],
  ['cursor=&cursor=*', 'cursor'],
])('a page asked for with %s: 400 names %s', async (query, field) => {
  await start();
  const answer = await get(`/api/names?${query}`);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ errors: [{ field }] });
});

/** For one who has something with this tag; fetch would ask for a fresh answer whatever the tag. */
const statusFor = async (path: string, tag: string): Promise<number | undefined> => {
  const answer = await new Promise<IncomingMessage>((resolve) =>
    httpGet(url + path, { headers: { 'if-none-match': tag } }, resolve),
  );
  answer.resume();
  return answer.statusCode;
};

test('who has an answer already is told so', async () => {
  await start();
  const first = await get('/api/names');
  const tag = first.headers.get('etag')!;
  expect(tag).toMatch(/^W\/"[\w-]+"$/);
  expect((await get('/api/names')).headers.get('etag')).toBe(tag);
  expect(await statusFor('/api/names', tag)).toBe(304);
  expect(await statusFor('/api/rows', tag)).toBe(200);
});

test('one request has no tag, since clients read it as a number; nor have very large answers', async () => {
  await start();
  expect((await get('/api/requests/request/svc')).headers.get('etag')).toBeNull();
  expect((await get('/api/large')).headers.get('etag')).toBeNull();
});

test('browsers are told to keep our pages to themselves', async () => {
  await start();
  const { headers } = await get('/api/names');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('strict-transport-security')).toBeNull();
  expect(headers.get('x-powered-by')).toBeNull();
});

test('other origins may not call unless the settings say so', async () => {
  await start();
  const { headers } = await get('/api/names', { origin: 'http://elsewhere.example' });
  expect(headers.get('access-control-allow-origin')).toBeNull();
});

const anyOrigin = { allowedOrigins: ['*'], allowCredentials: false };
test.each([{ cors: { enabled: true, ...anyOrigin } }, { enableCorsFilter: true, cors: anyOrigin }])(
  'with %o any origin may call, without credentials',
  async (settings) => {
    await start(settings);
    const answer = await fetch(`${url}/api/names`, {
      method: 'OPTIONS',
      headers: { origin: 'http://elsewhere.example', 'access-control-request-method': 'PUT' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    expect(answer.headers.get('access-control-allow-methods')).toContain('PUT');
  },
);

test('OPTIONS that is no preflight tells the methods of a path, and 404 where there is none, also with CORS', async () => {
  await start({ cors: { enabled: true, allowedOrigins: ['http://x.example'] } });
  const options = (path: string) => fetch(url + path, { method: 'OPTIONS', headers: { origin: 'http://x.example' } });
  const answer = await options('/api/names');
  expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  expect((await options('/api/nothing')).status).toBe(404);
});

test.each([
  '/docs',
  '/docs/',
  '/docs/openapi.json',
  '/docs/swagger-ui-init.js',
  '/docs/swagger-ui.css',
  '/docs/index.css',
])('OPTIONS of %s, and what only reads can do with it, is answered like that of any path', async (path) => {
  await start();
  expect((await get(path)).status).toBe(200);
  const options = await fetch(url + path, { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  expect((await fetch(url + path, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${url}/docs/nothing.css`, { method: 'OPTIONS' })).status).toBe(404);
});

test.each([
  ['of a file that is not served', '/docs/LICENSE'],
  ['of the same in other letters', '/docs/%4CICENSE'],
  ['of a file in other letters', '/docs/swagger-ui%2Ecss'],
  ['of a file as if it were a folder', '/docs/swagger-ui.css/'],
  ['of a file behind an empty name', '/docs//swagger-ui.css'],
  ['of an empty name', '/docs//'],
  ['of a name that a file begins with', '/docs/swagger-ui'],
])('OPTIONS %s is 404, as every other call is', async (_name, path) => {
  await start();
  const statuses = ['GET', 'HEAD', 'OPTIONS', 'POST'].map(
    async (method) => (await fetch(url + path, { method })).status,
  );
  expect(await Promise.all(statuses)).toEqual([404, 404, 404, 404]);
});

test('OPTIONS about the service as a whole is answered like that about a path', async () => {
  await start();
  const statusOf = (method: string) =>
    new Promise<number>((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const call = httpRequest({ hostname, port, method, path: '*' }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
      });
      call.once('error', reject).end();
    });
  expect([await statusOf('OPTIONS'), await statusOf('GET')]).toEqual([204, 404]);
});

test('paths are what they are in their letters: nothing is at /API', async () => {
  await start();
  expect((await get('/API/names')).status).toBe(404);
  expect((await get('/api/Names')).status).toBe(404);
  expect((await get('/api/names/')).status).toBe(200);
});

test('calls and answers are made with the members of Express, which gives them no others', async () => {
  await start();
  const { request: call, response: answer } = app.getHttpAdapter().getInstance() as Express;
  const seen: unknown[] = [];
  const note = (...made: object[]) => seen.push(made.map((each) => Object.getPrototypeOf(each)));
  (app.getHttpServer() as Server).prependListener('request', note).on('request', note);
  await get('/api/names');
  expect(seen).toEqual([
    [call, answer],
    [call, answer],
  ]);
});

test('named origins only', async () => {
  await start({ cors: { enabled: true, allowedOrigins: ['http://here.example'] } });
  const allowed = async (origin: string) =>
    (await get('/api/names', { origin })).headers.get('access-control-allow-origin');
  expect(await allowed('http://here.example')).toBe('http://here.example');
  expect(await allowed('http://elsewhere.example')).toBeNull();
});

test('beyond the limit calls are refused at once, and let in again when others have left', async () => {
  await start({ http: { maxConcurrentCalls: 2 } });
  const waiting = [get('/api/slow'), get('/api/slow')];
  await waitFor('two calls', () => held.length === 2);
  const refused = await get('/api/names');
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('limit') });
  expect((await get('/healthz')).status).toBe(200);
  for (const release of held.splice(0)) release();
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
  expect((await get('/api/names')).status).toBe(200);
});

test('a caller that goes away makes room', async () => {
  await start({ http: { maxConcurrentCalls: 1 } });
  const call = httpRequest(`${url}/api/slow`).on('error', () => undefined);
  call.end();
  await waitFor('the call', () => held.length === 1);
  call.destroy();
  await waitFor('room', async () => (await get('/api/names')).status === 200);
});

test('callers have so long to send a call, and connections so long to wait for one', async () => {
  await start({ http: { headersTimeoutMillis: 200, requestTimeoutMillis: 400, keepAliveTimeoutMillis: 100 } });
  const server = app.getHttpServer() as Server;
  expect(server).toMatchObject({ headersTimeout: 200, requestTimeout: 400, keepAliveTimeout: 100 });
});
