import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import { ServiceCredentials } from './service-credentials.js';

const secret = 'xoxb-4711-secret';
const sent = (address: string, asked: string, group?: string, groups?: string[]) =>
  new ServiceCredentials({ [address]: { secret, groups } }).of(new URL(asked), group);
const isSent = async (...given: Parameters<typeof sent>) => (await sent(...given)) !== undefined;

describe('credentials of https://prometheus.example/api/v1', () => {
  const address = 'https://prometheus.example/api/v1';
  test.each([
    address,
    `${address}/`,
    `${address}/query?query=up`,
    'HTTPS://Prometheus.Example:443/api/v1/query',
    `${address}/a/../query`,
  ])('are sent to %s', async (asked) => expect(await isSent(address, asked)).toBe(true));

  test.each([
    ['another scheme', 'http://prometheus.example/api/v1/query'],
    ['another port', 'https://prometheus.example:8443/api/v1/query'],
    ['another host', 'https://prometheus.example.evil.example/api/v1/query'],
    ['a host below', 'https://a.prometheus.example/api/v1/query'],
    ['the same host with a dot', 'https://prometheus.example./api/v1/query'],
    ['the address as a user', 'https://prometheus.example@evil.example/api/v1/query'],
    ['the address as user and password', 'https://prometheus.example:443@evil.example/api/v1'],
    ['a user of their own', 'https://mallory:guess@prometheus.example/api/v1/query'],
    ['the address in a query', 'https://evil.example/?https://prometheus.example/api/v1'],
    ['a backslash before the host', 'https://evil.example\\@prometheus.example/api/v1'],
    ['a path above', 'https://prometheus.example/api'],
    ['a path beside', 'https://prometheus.example/api/v10/query'],
    ['another case', 'https://prometheus.example/API/v1/query'],
    ['dots that lead out', 'https://prometheus.example/api/v1/../admin'],
    ['encoded dots that lead out', 'https://prometheus.example/api/v1/%2e%2e/admin'],
    ['an encoded slash', 'https://prometheus.example/api/v1/..%2fadmin'],
    ['an encoded backslash', 'https://prometheus.example/api/v1/..%5cadmin'],
    ['an escape that is encoded twice', 'https://prometheus.example/api/v1/%252e%252e/admin'],
    ['parameters of a segment', 'https://prometheus.example/api/v1/..;/admin'],
    ['an empty segment', 'https://prometheus.example/api/v1//admin'],
  ])('are not sent to %s: %s', async (_name, asked) => expect(await isSent(address, asked)).toBe(false));
});

test('an entry without a path is for all paths of its host', async () => {
  for (const asked of ['http://10.0.0.5:9090/', 'http://10.0.0.5:9090/api?a=b'])
    expect(await isSent('http://10.0.0.5:9090', asked)).toBe(true);
});

test.each([
  { groups: undefined, group: undefined, is: true },
  { groups: ['shop'], group: 'shop', is: true },
  { groups: ['shop'], group: 'bank', is: false },
  { groups: ['shop'], group: undefined, is: false },
])('for groups $groups, a request of group $group gets them: $is', async ({ groups, group, is }) =>
  expect(await isSent('http://a.example', 'http://a.example/b', group, groups)).toBe(is),
);

test('of several entries the longest one decides, also where it is for other groups', async () => {
  const credentials = new ServiceCredentials({
    'http://a.example/': { secret: 'all' },
    'http://a.example/shop/': { secret: 'shop', groups: ['shop'] },
  });
  const header = async (path: string, group?: string) =>
    (await credentials.of(new URL(`http://a.example${path}`), group))?.header;
  expect(await header('/else')).toBe('Bearer all');
  expect(await header('/shop/x', 'shop')).toBe('Bearer shop');
  expect(await header('/shop/x')).toBeUndefined();
});

test('a user has Basic authentication, and answers are told without the secret in any form', async () => {
  const credentials = new ServiceCredentials({ 'http://a.example': { username: 'muster', secret } });
  const basic = Buffer.from(`muster:${secret}`).toString('base64');
  const { header, redact } = (await credentials.of(new URL('http://a.example/')))!;
  expect(header).toBe(`Basic ${basic}`);
  expect(redact(`{"error": "no user for Basic ${basic}, ${secret}"}`)).toBe(
    '{"error": "no user for Basic [secret], [secret]"}',
  );
});

test('a file is read for each question', async () => {
  const folder = tempFolder();
  onTestFinished(() => folder.remove());
  const secretFile = join(folder.path, 'token');
  const credentials = new ServiceCredentials({ 'http://a.example/x': { secretFile } });
  const header = async () => (await credentials.of(new URL('http://a.example/x')))?.header;
  await expect(header()).rejects.toThrow(
    'the credentials for http://a.example/x cannot be read: there is no such file',
  );
  writeFileSync(secretFile, 'first\n');
  expect(await header()).toBe('Bearer first');
  writeFileSync(secretFile, 'second');
  expect(await header()).toBe('Bearer second');
  for (const text of ['', 'schlüssel', 'a\r\nHost: b'] as const) {
    writeFileSync(secretFile, text);
    await expect(header()).rejects.toThrow(
      /^the credentials for .* their file is not one line of printable ASCII characters$/,
    );
  }
});
