import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Clock } from '../../platform/clock.js';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';

class HandClock extends Clock {
  millis = 1_700_000_000_000;
  override now(): number {
    return this.millis;
  }
}
const clock = new HandClock();
let app: AuthApp;
let admin: string;
beforeAll(async () => {
  const auth = {
    enabled: true,
    adminGroups: ['admins'],
    bootstrapToken: 'first-of-all-tokens',
    tokenCreationsPerMinute: 5,
  };
  app = await startAuthApp({ auth }, { clock });
});
afterAll(() => app.close());
beforeEach(async () => {
  clock.millis += 120_000;
  await app.sql('TRUNCATE auth_token');
  admin = await app.tokenOf({ id: 'alma', groups: ['admins'] });
});

const make = async (body: unknown, token = admin): Promise<string> => {
  const answer = await app.call('POST', '/api/auth/token', { body, token });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body['token'] as string;
};
const who = (token: string): Promise<Answer> => app.call('GET', '/api/auth/user', { token });

test('a token stands for the user as they were when it was made', async () => {
  const user = { id: 'bob', name: 'Bob', email: 'bob@example.com', groups: ['web'], scopes: ['READ'] };
  const token = await make({ user });
  expect(token).toMatch(/^[0-9a-f-]{36}$/);
  expect((await who(token)).body).toEqual({
    user: { ...user, authenticated: true },
    authenticated: true,
    authEnabled: true,
  });
});

test('only a salted hash of a token is stored', async () => {
  const token = await make({ user: { id: 'bob' }, token: 'a text of my own' });
  expect(token).toBe('a text of my own');
  const [row] = await app.sql("SELECT * FROM auth_token WHERE user_name = 'bob'");
  expect(row!['token_hash']).toMatch(/^1000:[0-9a-f]{32}:[0-9a-f]{128}$/);
  expect(JSON.stringify(row)).not.toContain(token);
});

test('any caller makes a token for themselves; without a body, too', async () => {
  const first = await make({ user: { id: 'bob', groups: ['web'] } });
  const second = await make(undefined, first);
  expect((await who(second)).body).toMatchObject({ user: { id: 'bob', groups: ['web'] } });
});

test('a token for somebody else is the work of administrators: 403', async () => {
  const token = await make({ user: { id: 'bob' } });
  expect(await app.call('POST', '/api/auth/token', { body: { user: { id: 'alma' } }, token })).toMatchObject({
    status: 403,
  });
  expect(await app.call('DELETE', '/api/auth/token/alma', { token })).toMatchObject({ status: 403 });
});

test('a user without id is 400', async () => {
  const answer = await app.call('POST', '/api/auth/token', { body: { user: { name: 'Bob' } }, token: admin });
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'user.id' }] } });
});

test('a new token of a name clears the one before, at once', async () => {
  const first = await make({ user: { id: 'bob' } });
  expect((await who(first)).status).toBe(200);
  const second = await make({ user: { id: 'b2', name: 'bob' } });
  expect((await who(first)).status).toBe(401);
  expect((await who(second)).status).toBe(200);
});

test('a token that was cleared opens nothing any more; clearing none is 200', async () => {
  const token = await make({ user: { id: 'bob' } });
  expect((await who(token)).status).toBe(200);
  expect(await app.call('DELETE', '/api/auth/token/bob', { token: admin })).toMatchObject({ status: 200, body: '' });
  expect((await who(token)).status).toBe(401);
  expect(await app.call('DELETE', '/api/auth/token/bob', { token: admin })).toMatchObject({ status: 200 });
});

test('one cleared elsewhere is believed for 15 seconds at most', async () => {
  const token = await make({ user: { id: 'bob' } });
  await who(token);
  await app.sql("DELETE FROM auth_token WHERE user_name = 'bob'");
  clock.millis += 14_999;
  expect((await who(token)).status).toBe(200);
  clock.millis += 1;
  expect((await who(token)).status).toBe(401);
});

test('the token of one user does not become that of another: 400', async () => {
  await make({ user: { id: 'bob' }, token: 'a text of my own' });
  const answer = await app.call('POST', '/api/auth/token', {
    body: { user: { id: 'eve' }, token: 'a text of my own' },
    token: admin,
  });
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'token' }] } });
});

test('beyond tokenCreationsPerMinute a caller waits: 429', async () => {
  const bob = await make({ user: { id: 'bob' } });
  let last = bob;
  for (let made = 0; made < 5; made++) last = await make({}, last);
  expect(await app.call('POST', '/api/auth/token', { body: {}, token: last })).toMatchObject({
    status: 429,
    body: { code: 'TOO_MANY_TOKENS' },
  });
  clock.millis += 60_000;
  await make({}, last);
});

test('the word Token may stand in any letters and be followed by several blanks; another scheme is none', async () => {
  const sent = (value: string) => app.call('GET', '/api/auth/user', { headers: { Authorization: value } });
  expect((await sent(`token   ${admin}`)).status).toBe(200);
  expect((await sent(`Bearer ${admin}`)).status).toBe(401);
  expect((await sent(admin)).status).toBe(401);
});

test('the token of the settings makes an administrator without being stored', async () => {
  expect((await who('first-of-all-tokens')).body).toMatchObject({ user: { id: 'admin', groups: ['admins'] } });
  expect((await who('first-of-all-tokenz')).status).toBe(401);
  expect(await app.sql("SELECT 1 FROM auth_token WHERE user_name = 'admin'")).toEqual([]);
});

test('a hash with other parameters is verified with these', async () => {
  const { hashToken } = await import('./tokens/token-hash.js');
  const token = await make({ user: { id: 'bob' } });
  await app.sql("UPDATE auth_token SET token_hash = $1 WHERE user_name = 'bob'", [await hashToken(token, 3_000)]);
  expect((await who(token)).status).toBe(200);
  await app.sql("UPDATE auth_token SET token_hash = $1 WHERE user_name = 'bob'", [await hashToken('another', 1_000)]);
  clock.millis += 15_000;
  expect((await who(token)).status).toBe(401);
});

describe('a token that was made while authentication was off', () => {
  test('opens nothing once it is on', async () => {
    const { createDatabase } = await import('../../../test/support/test-database.js');
    const { url: databaseUrl, remove } = await createDatabase();
    const open = await startAuthApp({ auth: { authenticators: ['TOKEN'] } }, { databaseUrl });
    const made = await open.call('POST', '/api/auth/token', { body: { user: { id: 'eve', groups: ['admins'] } } });
    const token = made.body['token'] as string;
    expect((await open.call('GET', '/api/auth/user', { token })).body).toMatchObject({ user: { id: 'eve' } });
    await open.close();
    const closed = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } }, { databaseUrl });
    expect(await closed.call('GET', '/api/auth/user', { token })).toMatchObject({ status: 401 });
    await closed.close();
    await remove();
  });
});
