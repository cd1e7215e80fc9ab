import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Clock } from '../../platform/clock.js';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';

class HandClock extends Clock {
  millis = 1_700_000_000_000;
  override now(): number {
    return this.millis;
  }
}
const clock = new HandClock();
/** Knows one password. */
let service: Server;
let asked = 0;
let app: AuthApp;
let valid: string;
const free = 10;

beforeAll(async () => {
  service = createServer((request, response) => {
    asked++;
    const user = { id: 'ann', authenticated: true };
    if (request.headers.authorization === 'Basic right') return void response.end(JSON.stringify({ user }));
    response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const authVerificationUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`;
  const auth = {
    enabled: true,
    authenticators: ['TOKEN', 'WEBHOOK'],
    bootstrapToken: 'first-of-all-tokens',
    failuresBeforeDelay: free,
  };
  app = await startAuthApp({ auth, webhookAuth: { authVerificationUrl } }, { clock });
  valid = await app.tokenOf({ id: 'bob' });
});
afterAll(async () => {
  await app.close();
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
});
beforeEach(() => {
  clock.millis += 600_000;
  asked = 0;
});

const call = (authorization?: string): Promise<Answer> =>
  app.call('GET', '/api/auth/user', { headers: authorization === undefined ? {} : { Authorization: authorization } });
const guess = (number: number): Promise<Answer> => call(`Basic guess-${number}-${clock.millis}`);
const failUntilDelayed = async (): Promise<Answer> => {
  for (let number = 0; number < free; number++) expect((await guess(number)).status).toBe(401);
  return guess(free);
};

test('after so many wrong proofs from an address the next have to wait, and nothing is looked up for them', async () => {
  const delayed = await failUntilDelayed();
  expect(delayed).toMatchObject({ status: 429, body: { code: 'TOO_MANY_FAILURES' } });
  expect(delayed.headers.get('retry-after')).toBe('1');
  const before = asked;
  // A right guess would not be known either.
  for (const proof of ['Basic right', 'Token first-of-all-tokens', 'Basic wrong']) {
    expect((await call(proof)).status).toBe(429);
  }
  expect(asked).toBe(before);
});

test('the wait grows with each further failure, up to half a minute', async () => {
  let last = await failUntilDelayed();
  const waits = [];
  for (let number = 100; number < 108; number++) {
    waits.push(Number(last.headers.get('retry-after')));
    clock.millis += waits.at(-1)! * 1_000;
    expect((await guess(number)).status).toBe(401);
    last = await guess(number + 1_000);
    expect(last.status).toBe(429);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
});

test('a token that was made here, and a proof that counted before, are answered as ever', async () => {
  expect((await call('Basic right')).status).toBe(200);
  await failUntilDelayed();
  expect((await call(`Token ${valid}`)).status).toBe(200);
  expect((await call('Basic right')).status).toBe(200);
});

test('calls without a proof are told what is missing, and one wrong proof sent again and again counts less', async () => {
  for (let number = 0; number < 50; number++) expect((await call()).status).toBe(401);
  for (let number = 0; number < 40; number++) expect((await call('Basic forgotten')).status).toBe(401);
});

test('after ten minutes without a failure all is forgotten', async () => {
  await failUntilDelayed();
  clock.millis += 600_000;
  expect((await failUntilDelayed()).headers.get('retry-after')).toBe('1');
});
