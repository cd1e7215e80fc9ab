import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type HttpReceiver, startReceiver } from '../../test/support/http-receiver.js';
import { Prometheus, prometheusUser } from '../../test/support/prometheus.js';
import { tempFolder } from '../../test/support/temp-folder.js';
import { testSettings } from '../../test/support/test-settings.js';
import { prometheusNumber } from '../core/gates/index.js';
import { ServiceAsker, type AskedService } from './service-asker.js';
import type { AskCredentials } from './settings/gate-settings.js';

const secret = 'eyJhbGciOi.secret';
const deploys = { requestId: 'web', deployId: 'v2', activeDeployId: 'v1' };

/** The service that the operator trusts, and one of a tenant. */
let trusted: HttpReceiver;
let foreign: HttpReceiver;
beforeEach(async () => {
  trusted = await startReceiver({ readsForms: true });
  foreign = await startReceiver({ readsForms: true });
});
afterEach(() => Promise.all([trusted.close(), foreign.close()]));

function asker(credentials: Record<string, AskCredentials>, prometheus: { uri?: string } = {}): ServiceAsker {
  const gates = { allowedTargets: ['127.0.0.1', 'localhost'], requestTimeoutMillis: 5_000, credentials };
  const made = new ServiceAsker({ ...testSettings(), gates, prometheus });
  onTestFinished(() => made.onApplicationShutdown());
  return made;
}
const sent = (receiver: HttpReceiver) => receiver.calls.map(({ headers }) => headers.authorization);

describe('credentials', () => {
  test.each<[string, Partial<AskCredentials>, string]>([
    ['a bearer token', {}, `Bearer ${secret}`],
    ['user and password', { username: 'muster' }, `Basic ${Buffer.from(`muster:${secret}`).toString('base64')}`],
  ])('%s go to the address that they are for, of gates and of prometheus.uri', async (_name, given, header) => {
    const one = asker({ [`${trusted.url}/api`]: { secret, ...given } }, { uri: trusted.url });
    await one.ask({ type: 'PROMETHEUS', query: 'up' }, deploys, undefined);
    await one.ask({ type: 'HTTP', uri: `${trusted.url}/api/$REQUEST_ID` }, deploys, undefined);
    expect(trusted.calls.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /api/v1/query', 'GET /api/web']);
    expect(sent(trusted)).toEqual([header, header]);
  });

  test('go with requests of the groups that they are for', async () => {
    const one = asker({ [trusted.url]: { secret, groups: ['shop'] } });
    for (const group of ['shop', 'bank', undefined]) await one.ask({ type: 'HTTP', uri: trusted.url }, deploys, group);
    expect(sent(trusted)).toEqual([`Bearer ${secret}`, undefined, undefined]);
  });

  test('that cannot be read make the answer inconclusive, and nothing is sent', async () => {
    const one = asker({ [trusted.url]: { secretFile: '/nowhere/token' } });
    expect(await one.ask({ type: 'HTTP', uri: trusted.url }, deploys, undefined)).toEqual({
      problem: `the credentials for ${trusted.url} cannot be read: there is no such file`,
    });
    expect(trusted.calls).toEqual([]);
  });
});

test.runIf(Prometheus.isInstalled())('a real Prometheus that wants user and password gets them', async () => {
  const guarded = await Prometheus.start({ asksForUser: true });
  onTestFinished(() => guarded.close());
  const { name: username, password } = prometheusUser;
  const folder = tempFolder();
  onTestFinished(() => folder.remove());
  const secretFile = join(folder.path, 'password');
  writeFileSync(secretFile, `${password}\n`);
  const ask = async (credentials: Record<string, AskCredentials>) =>
    prometheusNumber(
      await asker(credentials, { uri: guarded.url }).ask(
        { type: 'PROMETHEUS', query: 'vector(7)' },
        deploys,
        undefined,
      ),
    );
  expect(await ask({ [`${guarded.url}/api/v1/query`]: { username, secretFile } })).toEqual({ value: 7 });
  expect(await ask({})).toMatchObject({ problem: expect.stringContaining('401') });
  writeFileSync(secretFile, 'another');
  expect(await ask({ [guarded.url]: { username, secretFile } })).toMatchObject({
    problem: expect.stringContaining('401'),
  });
});

describe('a tenant who wants the credentials gets nothing', () => {
  type Attack = (trustedUrl: string, foreignUrl: string) => AskedService;
  test.each<[string, Attack]>([
    ['by another port', (_trusted, other) => ({ type: 'HTTP', uri: `${other}/api` })],
    ['by another port as Prometheus', (_trusted, other) => ({ type: 'PROMETHEUS', uri: `${other}/api`, query: 'up' })],
    [
      'by the address as a user',
      (url, other) => ({ type: 'HTTP', uri: other.replace('//', `//${new URL(url).host}@`) }),
    ],
    ['by a user of his own', (_trusted, other) => ({ type: 'HTTP', uri: other.replace('//', '//mallory:guess@') })],
    ['by the address in a query', (url, other) => ({ type: 'HTTP', uri: `${other}/api?${url}/api` })],
    [
      'by another name of the host',
      (_trusted, other) => ({ type: 'HTTP', uri: other.replace('127.0.0.1', 'localhost') }),
    ],
  ])('%s', async (_name, attack) => {
    const one = asker({ [`${trusted.url}/api`]: { secret } });
    await one.ask(attack(trusted.url, foreign.url), deploys, undefined);
    expect(sent(foreign)).toEqual([undefined]);
    expect(sent(trusted)).toEqual([]);
  });

  test.each<[string, (url: string) => string]>([
    ['with a user in the address', (url) => url.replace('//', '//mallory:guess@')],
    ['with another name of the host', (url) => url.replace('127.0.0.1', 'localhost')],
    ['with a path that leads out', (url) => url.replace('/api', '/api/..%2fadmin')],
    ['with a path beside', (url) => `${url}s`],
  ])('%s, not even at the trusted service', async (_name, change) => {
    const one = asker({ [`${trusted.url}/api`]: { secret } });
    await one.ask({ type: 'HTTP', uri: change(`${trusted.url}/api`) }, deploys, undefined);
    expect(sent(trusted)).toEqual([undefined]);
  });

  test('by another scheme', async () => {
    const one = asker({ [trusted.url.replace('http:', 'https:')]: { secret } });
    await one.ask({ type: 'HTTP', uri: trusted.url }, deploys, undefined);
    expect(sent(trusted)).toEqual([undefined]);
  });

  test.each([301, 302, 303, 307, 308])('by a redirect with status %d', async (status) => {
    const one = asker({ [trusted.url]: { secret } });
    trusted.answer = (_call, response) => response.writeHead(status, { location: `${foreign.url}/` }).end();
    for (const type of ['HTTP', 'PROMETHEUS'] as const)
      expect(await one.ask({ type, uri: trusted.url, query: 'up' }, deploys, undefined)).toMatchObject({ status });
    expect(sent(trusted)).toEqual([`Bearer ${secret}`, `Bearer ${secret}`]);
    expect(foreign.calls).toEqual([]);
  });

  test('by a service that tells what it was sent', async () => {
    const one = asker({ [trusted.url]: { secret, username: 'muster' } });
    trusted.answer = ({ headers }, response) =>
      response.writeHead(400).end(JSON.stringify({ status: 'error', error: `${headers.authorization} ${secret}` }));
    const answer = await one.ask({ type: 'PROMETHEUS', uri: trusted.url, query: 'up' }, deploys, undefined);
    expect(answer).toEqual({ status: 400, body: '{"status":"error","error":"Basic [secret] [secret]"}' });
  });
});
