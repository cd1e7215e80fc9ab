import { METHODS } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aboutShop, EveryOperation, operationIn, reached } from '../support/auth/every-operation.js';
import { expectedAccess } from '../support/auth/expected-access.js';
import { letThrough } from '../support/auth/guarded-app.js';
import { sendBytes, statusesIn, type RawCall } from '../support/raw-http.js';

let stage: EveryOperation;
beforeAll(async () => {
  stage = await EveryOperation.start();
});
afterAll(() => stage.close());

const asItIs = (path: string): string => path;
const upperCase = (text: string): string => text.toUpperCase();
const swap = (from: string | RegExp, to: string) => (path: string) => path.replace(from, to);
const prefix = (text: string) => (path: string) => text + path;
const suffix = (text: string) => (path: string) => path + text;
/** Ways to write a path that some servers take for the path itself, and some for another. */
const disguises: ((path: string) => string)[] = [
  asItIs,
  upperCase,
  swap('/api', '/Api'),
  swap('/api', '/aPi'),
  swap('/api', '/%61pi'),
  swap('/api', '/%2561pi'),
  swap('/api', '/\u00e1pi'),
  swap('/api', '/ap%69'),
  swap('/api/', '/api%2f'),
  swap('/api/', '/api%252f'),
  swap('/api/', '/api\\'),
  swap('/api/', '/api%5c'),
  swap('/api/', '/api//'),
  swap('/api/', '/api/./'),
  swap('/api/', '/api/x/../'),
  swap('/api/', '/api/%2e/'),
  swap('/api/', '/api/x/%2e%2e/'),
  swap('/api/', '/api;/'),
  swap('/api/', '/api;a=b/'),
  swap('/api/', '/api/;/'),
  swap('/api/', '/api%00/'),
  swap('/api/', '/api%20/'),
  swap('/api/', '/api/%c0%ae%c0%ae/api/'),
  swap('/api/', '/api%c0%af'),
  swap('/api/', '/api%ef%bc%8f'),
  swap(/^\//, '//'),
  swap(/^\//, '///'),
  swap(/^\//, '\\'),
  swap(/^\//, '/\\'),
  swap(/^\//, '/%2f'),
  swap(/^\//, '/%5c'),
  swap(/^\//, ''),
  prefix('/.'),
  prefix('/..'),
  prefix('/%2e'),
  prefix('/%2e%2e'),
  prefix('/;'),
  prefix('/x/..'),
  prefix('/healthz/..'),
  prefix('/healthz/%2e%2e'),
  prefix('/healthz/..;'),
  prefix('/readyz%2f..'),
  prefix('/docs/..'),
  prefix('/docs/..%2f..'),
  prefix('/docs/%252e%252e'),
  prefix('/ui/..'),
  prefix('/ui/%2e%2e'),
  prefix('/ui\\..'),
  prefix('/api/test/..'),
  prefix('/api/auth/..'),
  prefix('http://127.0.0.1'),
  prefix('http://localhost:1'),
  prefix('http://evil.example'),
  prefix('HTTP://127.0.0.1'),
  prefix('https://127.0.0.1'),
  prefix('//evil.example'),
  prefix('http://a@127.0.0.1'),
  suffix('/'),
  suffix('//'),
  suffix('/.'),
  suffix('/..'),
  suffix('/healthz'),
  suffix('/../../healthz'),
  suffix(';'),
  suffix(';/healthz'),
  suffix('?'),
  suffix('??'),
  suffix('?/healthz'),
  suffix('?user=admin'),
  suffix('?_method=OPTIONS'),
  suffix('#'),
  suffix('#/healthz'),
  suffix('%23'),
  suffix('%3f'),
  suffix('%00'),
  suffix('%00.css'),
  suffix('%0a'),
  suffix('%0d%0aX:%20y'),
  suffix('%20'),
  suffix('%'),
  suffix('%zz'),
  suffix('.json'),
  suffix('.css'),
  suffix('~'),
];

describe('without credentials', () => {
  test('no way to write its path leads to an operation', async () => {
    const found: string[] = [];
    for (const [number, { name, method, path }] of stage.operations.entries()) {
      // Each operation by every seventh way, so that each way is tried on operations of all kinds.
      for (let index = number % 7; index < disguises.length; index += 7) {
        const written = disguises[index]!(path);
        const operation = reached(await stage.raw.call(written, { method }));
        if (operation !== undefined) found.push(`${name} as ${written}: ${operation}`);
      }
    }
    expect(found).toEqual([]);
  });

  test('HEAD leads nowhere either', async () => {
    for (const { path } of stage.with('GET')) {
      for (const disguise of [asItIs, prefix('/'), suffix('/')]) {
        const written = disguise(path);
        expect(reached(await stage.raw.call(written, { method: 'HEAD' })), written).toBeUndefined();
      }
    }
  });

  test.each([
    '/api/requests HTTP/1.1\r\nX: ',
    '/api/re quests',
    '/api/requests\t',
    '\t/api/requests',
    '/api/requests\u0000',
    '/api\u0001/requests',
    '/api/requests\u007f',
    '*',
  ])('%j, which no client would send, leads nowhere', async (path) => {
    const got = await sendBytes(stage.app.url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(statusesIn(got)).toHaveLength(1);
    expect([400, 401, 404, 405]).toContain(statusesIn(got)[0]);
  });
});

describe('methods', () => {
  const all = METHODS.filter((method) => method !== 'CONNECT' && method !== 'OPTIONS');

  test('that a path does not have lead nowhere, also with all rights', async () => {
    const headers = { authorization: `Token ${stage.tokens.admin}` };
    for (const [number, { path }] of stage.operations.entries()) {
      for (let index = number % 5; index < all.length; index += 5) {
        const method = all[index]!;
        const answer = await stage.raw.call(path, { method, headers });
        // HEAD has no body that would say so; it is what GET is.
        if (answer.status === letThrough && method !== 'HEAD') expect(operationIn(answer)).toMatch(`${method} `);
        else expect([400, 404, 405, letThrough], `${method} ${path}`).toContain(answer.status);
      }
    }
  });

  test.each(['get', 'Get', 'post', 'delete', 'GE', 'GETT', 'GET\tx', 'DEBUG', 'TRACK', 'FOO', 'G\u00c9T', '', ' GET'])(
    '%j is none',
    async (method) => {
      const head = `${method} /api/requests HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
      const got = await sendBytes(stage.app.url, `${head}Authorization: Token ${stage.tokens.admin}\r\n\r\n`);
      expect(statusesIn(got)).toEqual([400]);
    },
  );

  test('TRACE does not repeat what was sent', async () => {
    const headers = { authorization: 'Token swordfish' };
    const answer = await stage.raw.call('/api/requests', { method: 'TRACE', headers });
    expect(answer.body).not.toContain('swordfish');
  });
});

const overrides = (method: string): RawCall['headers'] => ({
  'X-HTTP-Method-Override': method,
  'X-HTTP-Method': method,
  'X-Method-Override': method,
});
const otherUrls = (path: string): RawCall['headers'] => ({
  'X-Original-URL': path,
  'X-Rewrite-URL': path,
  'X-Original-URI': path,
  'X-Forwarded-Uri': path,
  'X-Forwarded-Prefix': path,
  'X-Forwarded-Path': path,
  'X-Envoy-Original-Path': path,
  'X-Accel-Redirect': path,
  'X-Sendfile': path,
  Destination: path,
});

describe('a header changes neither method nor path:', () => {
  test('a reader who writes under the name of a GET is refused', async () => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Token ${stage.tokens.reader}`,
      ...overrides('GET'),
    };
    const writes = stage.with('POST', 'PUT', 'DELETE').filter(({ name }) => {
      const ask = expectedAccess.get(name);
      return ask !== 'caller' && ask !== 'READ';
    });
    expect(writes.length).toBeGreaterThan(60);
    for (const { name, method, path } of writes) {
      const answer = await stage.raw.call(`${path}?_method=GET`, { method, headers, body: aboutShop });
      expect(reached(answer), name).toBeUndefined();
    }
  });

  test('what comes as GET is answered as GET', async () => {
    const headers = { authorization: `Token ${stage.tokens.admin}`, ...overrides('DELETE') };
    for (const { name, path } of stage.with('GET')) {
      expect(operationIn(await stage.raw.call(`${path}?_method=DELETE`, { headers })), name).toMatch(/^GET /);
    }
  });

  test('an open path is answered as itself, whatever other path is named beside it', async () => {
    for (const path of ['/healthz', '/api/nothing']) {
      const plain = operationIn(await stage.raw.call(path));
      for (const { path: other } of stage.with('GET')) {
        const answer = await stage.raw.call(path, { headers: otherUrls(other) });
        expect(operationIn(answer), `${path} with ${other}`).toBe(plain);
      }
    }
  });

  test('a guarded path stays guarded when an open one is named beside it', async () => {
    for (const { name, method, path } of stage.operations) {
      const headers = { ...otherUrls('/healthz'), ...overrides('OPTIONS') };
      expect(reached(await stage.raw.call(path, { method, headers })), name).toBeUndefined();
    }
  });
});
