import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Clock } from '../../platform/clock.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';

class HandClock extends Clock {
  millis = 1_700_000_000_000;
  override now(): number {
    return this.millis;
  }
}

const clock = new HandClock();
let server: Server;
let url: string;
let asked: (string | undefined)[];
let answer: { status: number; body: unknown };
let app: AuthApp;
const known = { status: 200, body: { user: { id: 'ann', name: 'Ann', groups: ['web'], authenticated: true } } };

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(answer.status).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/verify`;
  const auth = { enabled: true, authenticators: ['WEBHOOK'] };
  app = await startAuthApp({ auth, webhookAuth: { authVerificationUrl: url } }, { clock });
});
afterAll(async () => {
  await app.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = [];
  answer = known;
});

let number = 0;
const anyHeader = (): string => `Bearer secret-${++number}`;
const call = (authorization: string, of = app) =>
  of.call('GET', '/api/auth/user', { headers: { Authorization: authorization } });

test('the service gets the whole header and says who it is', async () => {
  const header = anyHeader();
  expect((await call(header)).body).toMatchObject({ user: { id: 'ann', name: 'Ann', groups: ['web'] } });
  expect(asked).toEqual([header]);
});

test('its answer is kept, then asked for again in the background', async () => {
  const header = anyHeader();
  await call(header);
  await call(header);
  expect(asked).toHaveLength(1);
  clock.millis += 60_000;
  answer = { status: 200, body: { user: { id: 'bob', authenticated: true } } };
  expect((await call(header)).body).toMatchObject({ user: { id: 'ann' } });
  await waitFor('the second answer', async () => ((await call(header)).body['user'] as { id: string }).id === 'bob');
  expect(asked).toHaveLength(2);
});

test('a service that fails to answer takes nothing back; one that refuses does', async () => {
  const header = anyHeader();
  await call(header);
  clock.millis += 60_000;
  answer = { status: 503, body: {} };
  expect((await call(header)).status).toBe(200);
  await waitFor('all tries', () => asked.length === 4);
  answer = { status: 401, body: {} };
  await waitFor('the refusal', async () => (await call(header)).status === 401);
});

test('an answer does not count for ever while the service cannot be reached', async () => {
  const header = anyHeader();
  await call(header);
  answer = { status: 503, body: {} };
  clock.millis += 599_999;
  expect((await call(header)).status).toBe(200);
  await waitFor('the look that fails', () => asked.length === 4);
  clock.millis += 1;
  expect((await call(header)).status).toBe(401);
  answer = known;
  expect((await call(header)).status).toBe(200);
});

test('a service that fails is asked again twice', async () => {
  answer = { status: 500, body: {} };
  const refused = await call(anyHeader());
  expect(refused.status).toBe(401);
  expect(refused.body.message).toBe('The caller is not authenticated: WEBHOOK: the verification service answered 500');
  expect(asked).toHaveLength(3);
});

test.each([
  ['refuses', { status: 403, body: {} }, 'answered 403'],
  ['names no user', { status: 200, body: { error: 'expired' } }, 'WEBHOOK: expired'],
  ['does not vouch for its user', { status: 200, body: { user: { id: 'ann' } } }, 'knows no such user'],
  ['answers something else', { status: 200, body: [] }, 'something else than a user'],
])('when it %s, the caller is not authenticated, and that is not kept', async (_name, said, reason) => {
  answer = said;
  const header = anyHeader();
  const refused = await call(header);
  expect(refused.status).toBe(401);
  expect(refused.body.message).toContain(reason);
  expect(refused.body.message).not.toContain('secret-');
  answer = known;
  expect((await call(header)).status).toBe(200);
});

test('a RAW answer has a uid and gets the domain of the settings', async () => {
  const auth = {
    enabled: true,
    authenticators: ['WEBHOOK'],
    authResponseParser: 'RAW',
    defaultEmailDomain: 'example.com',
  };
  const raw = await startAuthApp({ auth, webhookAuth: { authVerificationUrl: url } });
  answer = { status: 200, body: { uid: 'ann', groups: ['web'], scopes: ['READ'] } };
  expect((await call('Bearer x', raw)).body['user']).toEqual({
    id: 'ann',
    name: 'ann',
    email: 'ann@example.com',
    groups: ['web'],
    scopes: ['READ'],
    authenticated: true,
  });
  await raw.close();
});

test('without the header it is not asked', async () => {
  const refused = await app.call('GET', '/api/auth/user');
  expect(refused.body.message).toBe('The caller is not authenticated: WEBHOOK: header Authorization is missing');
  expect(asked).toEqual([]);
});
