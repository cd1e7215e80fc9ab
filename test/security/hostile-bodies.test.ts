import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cpuMillisOf } from '../support/cpu-time.js';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { operationsOf } from '../support/auth/guarded-app.js';
import { RawCaller } from '../support/raw-http.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

let app: TestApp<ClusterDriver>;
let raw: RawCaller;
beforeAll(async () => {
  app = await startTestApp();
  raw = new RawCaller(app.url);
});
afterAll(async () => {
  raw.close();
  await app.close();
});

const json = { 'Content-Type': 'application/json' };
const send = (body: string | Buffer, headers: Record<string, string> = {}, path = '/api/requests') =>
  raw.call(path, { method: 'POST', headers: { ...json, ...headers }, body });
const megabyte = 1_048_576;

test('members of prototypes are left out, wherever they stand, and change no prototype', async () => {
  const evil = '{"polluted":1,"toString":1}';
  const everywhere = `"__proto__":${evil},"constructor":{"prototype":${evil}},"prototype":${evil}`;
  const bodies = [
    `{${everywhere}}`,
    `{"id":"nope","requestId":"nope","requestType":"SERVICE",${everywhere},"requiredSlaveAttributes":{${everywhere}}}`,
    `{"deploy":{"id":"d","requestId":"nope","command":"true",${everywhere},"env":{${everywhere}}},${everywhere}}`,
    `{"env":{"__proto__":"x","constructor":"y","hasOwnProperty":"z"},"ids":[{${everywhere}}]}`,
    `[{${everywhere}}]`,
    `{"\\u005f\\u005fproto\\u005f\\u005f":${evil}}`,
  ];
  const writes = operationsOf(app.app).filter((name) => !name.startsWith('GET ') && !name.endsWith('/failover'));
  for (const name of writes) {
    const [method, route] = name.split(' ') as [string, string];
    const path = route.replaceAll(/:\w+/g, 'nope');
    for (const body of bodies) {
      const { status } = await raw.call(path, { method, headers: json, body });
      expect(status, `${name} ${body}`).toBeLessThan(500);
    }
  }
  for (const thing of [{}, [], () => 0, '', 0]) expect((thing as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(String({})).toBe('[object Object]');
});

describe('a body is refused', () => {
  test.each([
    ['lists, 65 deep', '['.repeat(65) + ']'.repeat(65)],
    ['lists, 100,000 deep', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['lists, 1,500,000 deep', '['.repeat(1_500_000) + ']'.repeat(1_500_000)],
    ['records, 100,000 deep', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
    ['records, 1,000,000 deep', '{"a":'.repeat(1_000_000) + '1' + '}'.repeat(1_000_000)],
    ['lists that do not end', '['.repeat(1_500_000)],
    ['both in turns', '[{"a":'.repeat(50_000) + '1' + '}]'.repeat(50_000)],
    ['below a member that is free in form', `{"id":"a","env":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
  ])('of %s', async (_what, body) => {
    for (const path of ['/api/requests', '/api/deploys', '/api/webhooks']) {
      expect([400, 413]).toContain((await send(body, {}, path)).status);
    }
  });

  test.each([
    ['of 11 MB of text', 413, () => JSON.stringify({ id: 'a'.repeat(11 * megabyte) })],
    ['of 11 MB of blanks', 413, () => ' '.repeat(11 * megabyte)],
    ['of 19,000 members that no record has', 400, () => JSON.stringify(members(19_000))],
    ['of 20,001 members', 400, () => JSON.stringify({ id: 'a', env: members(20_001) })],
    [
      'of a text of a million letters for an id',
      400,
      () => JSON.stringify({ id: 'a'.repeat(megabyte), requestType: 'SERVICE' }),
    ],
    [
      'of a number of a million digits',
      400,
      () => `{"id":"a","requestType":"SERVICE","instances":${'9'.repeat(megabyte)}}`,
    ],
  ])('%s', async (_what, status, body) => {
    expect((await send(body())).status).toBe(status);
  });

  const request = JSON.stringify({ id: 'packed', requestType: 'SERVICE' });
  test.each<[string, Record<string, string>, () => Buffer, number]>([
    ['as a bomb of gzip', { 'Content-Encoding': 'gzip' }, () => gzipSync(Buffer.alloc(300 * megabyte, ' ')), 413],
    ['as gzip twice', { 'Content-Encoding': 'gzip, gzip' }, () => gzipSync(gzipSync(request)), 415],
    ['as gzip in gzip, said once', { 'Content-Encoding': 'gzip' }, () => gzipSync(gzipSync(request)), 400],
    ['as gzip that is cut', { 'Content-Encoding': 'gzip' }, () => gzipSync(request).subarray(0, -9), 400],
    [
      'as gzip that is broken',
      { 'Content-Encoding': 'gzip' },
      () => Buffer.from(gzipSync(request)).fill(7, 12, 20),
      400,
    ],
    ['as no gzip at all', { 'Content-Encoding': 'gzip' }, () => Buffer.from(request), 400],
    ['in an encoding that there is not', { 'Content-Encoding': 'x-evil' }, () => Buffer.from(request), 415],
    ['in a list of encodings', { 'Content-Encoding': 'identity, gzip' }, () => gzipSync(request), 415],
  ])('%s', async (_what, headers, body, status) => {
    const before = process.memoryUsage().rss;
    const sent = body();
    expect((await send(sent, headers)).status).toBe(status);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * megabyte);
  });

  test.each<[string, string | Buffer, Record<string, string>?]>([
    ['NUL in an id', '{"id":"a\\u0000b","requestType":"SERVICE"}'],
    [
      'NUL in the name of a member',
      '{"id":"a","requestType":"SERVICE","a\\u0000":1,"requiredSlaveAttributes":{"\\u0000":"x"}}',
    ],
    ['half of a surrogate pair', '{"id":"a\\ud800","requestType":"SERVICE"}'],
    ['the other half in a map', '{"id":"a","requestType":"SERVICE","requiredSlaveAttributes":{"x":"\\udc00"}}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ['UTF-16', Buffer.from('{"id":"a","requestType":"SERVICE"}', 'utf16le')],
    [
      'NUL in UTF-16 that says so',
      Buffer.from('{"id":"a\\u0000","requestType":"SERVICE"}', 'utf16le'),
      { 'Content-Type': 'application/json; charset=utf-16' },
    ],
    [
      'a character set that there is not',
      '{"id":"a","requestType":"SERVICE"}',
      { 'Content-Type': 'application/json; charset=x-evil' },
    ],
    ['a raw line end in a text', '{"id":"a\nb","requestType":"SERVICE"}'],
    ['a comment', '{"id":"a",/* */"requestType":"SERVICE"}'],
    ['NaN', '{"id":"a","requestType":"SERVICE","instances":NaN}'],
    ['a list for an id', '{"id":["a"],"requestType":"SERVICE"}'],
    ['a record for an id', '{"id":{"toString":"a"},"requestType":"SERVICE"}'],
    ['two documents', '{"id":"a","requestType":"SERVICE"}{"id":"b","requestType":"SERVICE"}'],
  ])('with %s', async (_what, body, headers) => {
    expect([400, 415]).toContain((await send(body, headers)).status);
  });
});

test('and with it all that it asked for', async () => {
  expect((await raw.call('/api/requests/ids')).body).toBe('[]');
});

const members = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`k${number}`, 'v']));

describe('a schedule that is hostile is refused, or stored, at once:', () => {
  const schedules: [string, Record<string, unknown>][] = [
    ['nothing', { schedule: '' }],
    ['blanks', { schedule: '     ' }],
    ['too many fields', { schedule: '* * * * * * * * *' }],
    ['a day that never comes', { schedule: '0 0 30 2 *' }],
    ['a 29th of February on a far weekday', { quartzSchedule: '0 0 0 29 2 ? 2099' }],
    ['a year that is over', { quartzSchedule: '0 0 0 1 1 ? 1999' }],
    ['years without end', { quartzSchedule: '0 0 0 1 1 ? 1970-999999999' }],
    ['steps of nothing', { schedule: '*/0 * * * *' }],
    ['steps below nothing', { schedule: '*/-1 * * * *' }],
    ['huge steps', { schedule: `*/${'9'.repeat(300)} * * * *` }],
    ['huge numbers', { schedule: '99999999999999999999 * * * *' }],
    ['ranges backwards', { schedule: '59-0 23-0 31-1 12-1 6-0' }],
    ['an expression for other engines', { schedule: '(a+)+$ * * * *' }],
    ['members of prototypes', { schedule: '__proto__ constructor toString * *' }],
    ['a list of 250,000 ranges', { schedule: `${'1-59/1,'.repeat(250_000)}1 * * * *` }],
    ['a recurrence without a frequency', { schedule: 'RRULE:', scheduleType: 'RFC5545' }],
    ['a recurrence each second', { schedule: 'RRULE:FREQ=SECONDLY;INTERVAL=1', scheduleType: 'RFC5545' }],
    [
      'a recurrence that never happens',
      { schedule: 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', scheduleType: 'RFC5545' },
    ],
    [
      'a recurrence from the beginning of time',
      { schedule: 'DTSTART:00010101T000000Z\nRRULE:FREQ=SECONDLY', scheduleType: 'RFC5545' },
    ],
    ['a recurrence with a huge count', { schedule: 'RRULE:FREQ=MINUTELY;COUNT=999999999999', scheduleType: 'RFC5545' }],
    [
      'a recurrence with a huge interval',
      { schedule: `RRULE:FREQ=YEARLY;INTERVAL=${'9'.repeat(30)}`, scheduleType: 'RFC5545' },
    ],
    [
      'a recurrence of all seconds of all days',
      {
        schedule: `RRULE:FREQ=YEARLY;BYSECOND=${Array.from({ length: 60 }, (_, n) => n).join()};BYMINUTE=${Array.from({ length: 60 }, (_, n) => n).join()};BYHOUR=0,1,2,3;BYYEARDAY=366`,
        scheduleType: 'RFC5545',
      },
    ],
    ['the time zone of a file', { schedule: '* * * * *', scheduleTimeZone: '../../etc/passwd' }],
    ['a time zone of prototypes', { schedule: '* * * * *', scheduleTimeZone: '__proto__' }],
    ['a time zone of 100,000 letters', { schedule: '* * * * *', scheduleTimeZone: 'E'.repeat(100_000) }],
    ['a time zone with SQL', { schedule: '* * * * *', scheduleTimeZone: "UTC'; DROP TABLE request; --" }],
    ['both kinds at once', { schedule: '* * * * *', quartzSchedule: '0 * * * * ?', scheduleType: 'RFC5545' }],
  ];

  test.each(schedules)('%s', async (what, fields) => {
    const id = `s${schedules.findIndex(([name]) => name === what)}`;
    let answer!: Awaited<ReturnType<typeof send>>;
    const millis = await cpuMillisOf(async () => {
      answer = await send(JSON.stringify({ id, requestType: 'SCHEDULED', ...fields }));
      expect([200, 400]).toContain(answer.status);
      // What was stored is read again and again: that is as quick.
      for (const path of [`/api/requests/request/${id}`, '/api/requests']) {
        expect((await raw.call(path)).status).toBeLessThan(500);
      }
    });
    expect(millis).toBeLessThan(2_500);
    if (answer.status === 200)
      await raw.call(`/api/requests/request/${id}`, { method: 'DELETE', headers: json, body: '{}' });
  });
});

test.each([
  'file:///etc/passwd',
  'FILE:///etc/passwd',
  'gopher://127.0.0.1:6379/_INFO',
  'ftp://127.0.0.1/x',
  'dict://127.0.0.1:11211/stat',
  'ldap://127.0.0.1/x',
  'data:text/plain,x',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  'jar:http://127.0.0.1!/x',
  '//127.0.0.1/x',
  '/etc/passwd',
  'http:',
  'http://',
  'http://a b/',
  '',
])('a webhook to %j is refused', async (uri) => {
  const answer = await send(JSON.stringify({ uri, type: 'TASK' }), {}, '/api/webhooks');
  expect(answer.status).toBe(400);
  expect((await raw.call('/api/webhooks')).body).toBe('[]');
});
