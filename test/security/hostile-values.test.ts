import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationsOf } from '../support/auth/guarded-app.js';
import { insertDeploy, insertRequest, insertTask, start } from '../support/builders.js';
import { RawCaller, type RawAnswer } from '../support/raw-http.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';

let app: TestApp<ClusterDriver>;
let raw: RawCaller;
let operations: { name: string; method: string; route: string }[];
beforeAll(async () => {
  app = await startTestApp();
  raw = new RawCaller(app.url);
  const { pool } = app.database;
  await insertRequest(pool, { request: { id: 'present' } });
  await insertDeploy(pool, { deploy: { requestId: 'present' } });
  await insertTask(pool, { requestId: 'present', updates: [['TASK_RUNNING', start]] });
  operations = operationsOf(app.app)
    // The one makes this process end, the other one answers without end.
    .filter((name) => !['POST /api/disasters/failover', 'GET /api/events'].includes(name))
    .map((name) => {
      const [method, route] = name.split(' ') as [string, string];
      return { name, method, route };
    });
});
afterAll(async () => {
  raw.close();
  await app.close();
});

const json = { 'Content-Type': 'application/json' };
/** Names of parameters that are texts somewhere. */
const texts =
  'requestId requestIdLike deployId runId host slaveHostname slaveId taskId webhookId filter property path grep user group id ' +
  'orderDirection requestType scope lastTaskState';
const numbers = 'count page limit offset length startedAfter startedBefore updatedAfter start';

/** Each value as every part of the path that is a parameter, and as every parameter of the query. */
async function everywhere(encoded: string, names: string, methods = ['GET', 'POST', 'PUT', 'DELETE']) {
  const wrong: string[] = [];
  const query = names
    .split(' ')
    .map((name) => `${name}=${encoded}`)
    .join('&');
  for (const { name, method, route } of operations.filter((operation) => methods.includes(operation.method))) {
    const path = route.replaceAll(/:\w+/g, encoded || '%20');
    const isRead = method === 'GET';
    for (const target of isRead && path !== route ? [path, `${path}?${query}`] : [`${path}?${query}`]) {
      const begun = performance.now();
      const answer = await raw.call(target, { method, ...(!isRead && { headers: json, body: '{}' }) });
      const millis = performance.now() - begun;
      if (!isInOrder(answer)) wrong.push(`${name}: ${answer.status} ${answer.body.slice(0, 200)}`);
      if (millis > 4_500) wrong.push(`${name}: after ${millis} ms`);
    }
  }
  return wrong;
}

/** Refused or answered, in the form of every answer, and nothing of the inside of the program is told. */
const isInOrder = ({ status, body }: RawAnswer): boolean =>
  status < 500 && !/at \w+ \(|node_modules|syntax error at or near|\/src\//.test(body);

/** Every byte of it, so that no client and no proxy sees anything in it. */
const encode = (value: string): string =>
  [...Buffer.from(value, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const tables = async (): Promise<unknown> =>
  app.database.pool.query(
    `SELECT (SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public') AS columns,
       (SELECT count(*) FROM pg_roles) AS roles,
       (SELECT string_agg(id || document::text, ',') FROM request WHERE id = 'present') AS present`,
  );

describe('SQL in place of a value', () => {
  test.each([
    "' OR '1'='1",
    "'; DROP TABLE request; --",
    "x' UNION SELECT token_hash, lookup_digest FROM auth_token --",
    '1; SELECT pg_sleep(5)',
    "' || (SELECT pg_sleep(5)) || '",
    '$$; CREATE ROLE evil SUPERUSER; --',
    "%' OR id LIKE '%",
    "\\'; UPDATE request SET document = '{}'; --",
    'id) FROM request; DELETE FROM request WHERE (id',
    "E'\\x27' OR 1=1 /*",
  ])('%s changes nothing and takes no time', async (value) => {
    const before = await tables();
    expect(await everywhere(encode(value), texts)).toEqual([]);
    expect(await everywhere(encode(value), numbers, ['GET'])).toEqual([]);
    expect(await tables()).toEqual(before);
  });

  test.each(["' OR '1'='1", "%' OR '1'='1", "x%' OR 'a' LIKE '%", "x'||'", '\\'])('%s finds nothing', async (value) => {
    for (const target of [
      `/api/history/requests/search?requestIdLike=${encode(value)}`,
      `/api/history/tasks?requestId=${encode(value)}`,
      `/api/history/tasks?host=${encode(value)}`,
      `/api/requests/batch?id=${encode(value)}`,
      `/api/tasks/active/slave/${encode(value)}`,
    ]) {
      const answer = await raw.call(target);
      expect(answer.body, target).not.toContain('"present');
    }
    // And as what it is: a text like any other.
    expect((await raw.call('/api/requests/batch?id=present')).body).toContain('"present"');
  });
});

test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'])(
  'the word %s is a value like any other',
  async (word) => {
    expect(await everywhere(encode(word), `${texts} ${word} ${word}[polluted] a[__proto__][polluted]`)).toEqual([]);
    expect((await raw.call(`/api/requests/request/${word}`)).status).toBe(404);
  },
);

describe('numbers', () => {
  test.each([
    '-1',
    '0',
    '2147483648',
    '9223372036854775808',
    '99999999999999999999999999',
    '1e309',
    'NaN',
    'Infinity',
    '0x10',
    '1.5',
    '٣',
    '',
    ' ',
    'true',
    '{}',
  ])('%j is refused or answered', async (value) => {
    expect(await everywhere(encode(value), numbers, ['GET'])).toEqual([]);
  });
});

describe('letters', () => {
  test.each<[string, string]>([
    ['NUL', '\u0000'],
    ['NUL in a text', 'a\u0000b'],
    ['half of a surrogate pair', '%ed%a0%80'],
    ['the other half', '%ed%b0%80'],
    ['bytes that are no UTF-8', '%ff%fe'],
    ['an overlong slash', '%c0%af'],
    ['UTF-16', '%fe%ff%00%61'],
    ['a percent sign that encodes nothing', '%'],
    ['one that is cut', '%2'],
    ['one of other letters', '%zz'],
    ['a byte order mark', '\ufeffa'],
    ['a change of direction', '\u202ea'],
    ['line ends', 'a\r\nX-Injected: yes\r\n\r\nb'],
    ['control characters', '\u001b[31m\u0007\u0008'],
    ['a dot', '.'],
    ['dots', '..'],
    ['a way out', '../../../../etc/passwd'],
    ['an encoded way out', '..%2f..%2fetc%2fpasswd'],
    ['a backslash', '..\\..\\etc'],
    ['a template', '${7*7}{{7*7}}<%= 7*7 %>'],
    ['markup', '<script>alert(1)</script>'],
    ['a format', '-%s%n%d'],
    ['a thousand letters', 'x'.repeat(1_000)],
    ['a point outside of the basic plane', '\u{1f600}'],
  ])('%s: nothing fails, nothing gets into the headers', async (_what, value) => {
    const written = value.startsWith('%') ? value : encode(value);
    expect(await everywhere(written, texts)).toEqual([]);
    const { headers } = await raw.call(`/api/tasks/download?slaveHostname=a&path=${written}`);
    expect(headers['x-injected']).toBeUndefined();
  });
});

describe('queries', () => {
  test('of 400 property paths, and of very long or deep ones, are answered', async () => {
    const paths = Array.from({ length: 400 }, (_, number) => `property=request.a${number}.b.c`).join('&');
    const deep = `property=${Array.from({ length: 4_000 }, () => 'a').join('.')}`;
    for (const query of [paths, deep, 'property=...', 'property=__proto__.polluted', 'property=constructor.name']) {
      const answer = await raw.call(`/api/requests?${query}`);
      expect(answer.status, query.slice(0, 40)).toBeLessThan(500);
      expect(answer.body).not.toContain('Object');
    }
  });

  test('given as lists, as records or a thousand times are refused or answered', async () => {
    for (const query of [
      'count[]=1&count[]=2',
      'count[a]=1',
      'requestId[$ne]=x',
      'requestId[__proto__]=x',
      'a=1&'.repeat(1_500),
    ]) {
      for (const { route } of operations.filter(({ name }) => name.startsWith('GET ') && !name.includes(':'))) {
        const answer = await raw.call(`${route}?${query}`);
        expect(isInOrder(answer), `${route}?${query}: ${answer.status}`).toBe(true);
      }
    }
  });

  test('longer than 16 KB are refused before they are looked at', async () => {
    expect((await raw.call(`/api/requests?x=${'a'.repeat(20_000)}`)).status).toBe(431);
  });
});

test('after all of this no prototype has changed and the service is well', async () => {
  expect(Object.keys({})).toEqual([]);
  for (const name in {}) expect.fail(`every object has a member '${name}'`);
  expect((await raw.call('/healthz')).status).toBe(200);
  expect((await raw.call('/api/requests/request/present')).status).toBe(200);
});
