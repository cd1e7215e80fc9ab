import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Clock } from '../../platform/clock.js';
import { Wake } from '../../platform/wake/wake.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { lookupDigest } from './tokens/token-text.js';
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
    tokensPerUser: 3,
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
  expect((await who(token)).body).toEqual({
    user: { ...user, authenticated: true },
    authenticated: true,
    authEnabled: true,
    administrator: false,
    createsRequests: true,
  });
});

test('a token has 256 random bits behind a word to look for, and nothing of them is stored', async () => {
  const made = await app.call('POST', '/api/auth/token', { body: { user: { id: 'bob' } }, token: admin });
  const token = made.body['token'] as string;
  expect(token).toMatch(/^muster_[0-9a-f]{16}_[\w-]{43}$/);
  expect(token).toContain(`_${made.body['id'] as string}_`);
  const [row] = await app.sql("SELECT * FROM auth_token WHERE user_id = 'bob'");
  expect(JSON.stringify(row)).not.toContain(token.slice(24));
});

test.each(['1', 'a text of my own', 'x'.repeat(64), '3f7a0c3e-19d5-4b7e-9f2a-6d1f0f3a9b11'])(
  'a token is not chosen, and none tells whether another has it: %s',
  async (token) => {
    const refusal = { status: 400, body: { errors: [{ field: 'token' }] } };
    expect(
      await app.call('POST', '/api/auth/token', { body: { user: { id: 'bob' }, token }, token: admin }),
    ).toMatchObject(refusal);
    expect(await app.call('POST', '/api/auth/token', { body: { token: admin }, token: admin })).toMatchObject(refusal);
    expect(await app.sql("SELECT 1 FROM auth_token WHERE user_id = 'bob'")).toEqual([]);
  },
);

test('any caller makes a token for themselves; without a body, too', async () => {
  const first = await make({ user: { id: 'bob', groups: ['web'] } });
  const second = await make(undefined, first);
  expect((await who(second)).body).toMatchObject({ user: { id: 'bob', groups: ['web'] } });
});

test('a token for another user is the work of administrators: 403', async () => {
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

describe('a new token', () => {
  test('clears the one before of the same user, at once', async () => {
    const first = await make({ user: { id: 'bob' } });
    expect((await who(first)).status).toBe(200);
    const second = await make({ user: { id: 'bob', name: 'Robert' } });
    expect((await who(first)).status).toBe(401);
    expect((await who(second)).status).toBe(200);
  });

  test('clears none of a user who is called the same', async () => {
    const bob = await make({ user: { id: 'bob' } });
    const other = await make({ user: { id: 'b2', name: 'bob' } });
    for (const token of [bob, other]) expect((await who(token)).status).toBe(200);
  });

  test('with a name of its own stands beside the others, up to a number', async () => {
    const user = { id: 'bob' };
    const tokens = [await make({ user }), await make({ user, name: 'ci' }), await make({ user, name: 'laptop' })];
    for (const token of tokens) expect((await who(token)).status).toBe(200);
    expect(await app.call('POST', '/api/auth/token', { body: { user, name: 'more' }, token: admin })).toMatchObject({
      status: 429,
      body: { code: 'TOO_MANY_TOKENS' },
    });
    clock.millis += 60_000;
    await make({ user, name: 'ci' });
    expect((await who(tokens[1]!)).status).toBe(401);
    expect((await who(tokens[2]!)).status).toBe(200);
  });
});

describe('the end of a token', () => {
  const day = 86_400_000;
  const made = async (body: object, token = 'first-of-all-tokens') =>
    (await app.call('POST', '/api/auth/token', { body: { user: { id: 'bob', groups: ['admins'] }, ...body }, token }))
      .body;

  test('is after 90 days, also for one that is believed', async () => {
    const { token, expiresAt } = await made({});
    expect(expiresAt).toBe(clock.millis + 90 * day);
    clock.millis += 90 * day - 1_000;
    expect((await who(token as string)).status).toBe(200);
    clock.millis += 1_000;
    expect((await who(token as string)).status).toBe(401);
  });

  test('can be sooner, not later: 400', async () => {
    const { expiresAt } = await made({ expiresAt: clock.millis + day });
    expect(expiresAt).toBe(clock.millis + day);
    for (const wrong of [clock.millis + 90 * day + 1, clock.millis, 0]) {
      expect(await made({ expiresAt: wrong })).toMatchObject({ status: 400, errors: [{ field: 'expiresAt' }] });
    }
  });

  test('is not after that of the token that made it', async () => {
    const { token, expiresAt } = await made({ expiresAt: clock.millis + day });
    clock.millis += 1_000;
    const next = await made({ user: { id: 'eve' } }, token as string);
    expect(next['expiresAt']).toBe(expiresAt);
    const later = { user: { id: 'eve' }, expiresAt: (expiresAt as number) + 1 };
    expect(await made(later, token as string)).toMatchObject({ status: 400, errors: [{ field: 'expiresAt' }] });
  });

  test('has its row removed by the next that is made', async () => {
    await made({});
    clock.millis += 91 * day;
    await made({ user: { id: 'eve' } });
    expect(await app.sql('SELECT user_id FROM auth_token')).toEqual([{ user_id: 'eve' }]);
  });
});

describe('a list of tokens', () => {
  const list = async (query: string, token: string) => app.call('GET', `/api/auth/tokens${query}`, { token });

  test("is that of the caller's own, and says all but their text", async () => {
    const first = await make({ user: { id: 'bob', name: 'Bob' } });
    const second = await make({ name: 'ci' }, first);
    const { body } = await list('', second);
    const known = { userId: 'bob', userName: 'Bob', issuer: 'muster', createdAt: clock.millis, madeOpenly: false };
    const expiresAt = clock.millis + 90 * 86_400_000;
    expect(body).toHaveLength(2);
    expect(body).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...known, madeBy: 'alma', expiresAt }),
        expect.objectContaining({ ...known, madeBy: 'bob', name: 'ci' }),
      ]),
    );
    for (const token of [first, second]) expect(JSON.stringify(body)).not.toContain(token.slice(24));
  });

  test('says when each was used last, to the minute', async () => {
    const token = await make({ user: { id: 'bob' } });
    const used = async () => ((await list('', token)).body as unknown as { lastUsedAt?: number }[])[0]!.lastUsedAt;
    await waitFor('the use to be noted', async () => (await used()) === clock.millis);
    const first = clock.millis;
    clock.millis += 59_999;
    expect(await used()).toBe(first);
    clock.millis += 1;
    await waitFor('the next use', async () => (await used()) === first + 60_000);
  });

  test('of others is for administrators', async () => {
    const token = await make({ user: { id: 'bob' } });
    for (const query of ['?user=alma', '?all=true', '?user=bob']) {
      expect((await list(query, token)).status).toBe(403);
    }
    expect((await list('?user=bob', admin)).body).toMatchObject([{ userId: 'bob' }]);
    expect((await list('?all=true', admin)).body).toHaveLength(2);
  });
});

describe('a token that was revoked', () => {
  const idOf = (token: string): string => token.split('_')[1]!;
  const revoke = (id: string, token: string) => app.call('DELETE', `/api/auth/tokens/${id}`, { token });

  test('opens nothing any more; the others of its user do', async () => {
    const first = await make({ user: { id: 'bob' } });
    const second = await make({ name: 'ci' }, first);
    expect((await who(second)).status).toBe(200);
    expect(await revoke(idOf(second), first)).toMatchObject({ status: 200, body: '' });
    expect((await who(second)).status).toBe(401);
    expect((await who(first)).status).toBe(200);
    expect(await revoke(idOf(second), first)).toMatchObject({ status: 404, body: { code: 'TOKEN_NOT_FOUND' } });
  });

  test('is one of the caller; of others only administrators know', async () => {
    const bob = await make({ user: { id: 'bob' } });
    const eve = await make({ user: { id: 'eve' } });
    const unknown = await revoke('0123456789abcdef', eve);
    const refused = await revoke(idOf(bob), eve);
    expect(refused.status).toBe(404);
    expect(refused.body.message.replace(idOf(bob), '')).toBe(unknown.body.message.replace('0123456789abcdef', ''));
    expect((await who(bob)).status).toBe(200);
    expect((await revoke(idOf(bob), admin)).status).toBe(200);
    expect((await who(bob)).status).toBe(401);
  });

  test('is forgotten when another instance says so', async () => {
    const token = await make({ user: { id: 'bob' } });
    await who(token);
    await app.sql("DELETE FROM auth_token WHERE user_id = 'bob'");
    app.get(Wake).signalHere('tokens', [idOf(token)]);
    expect((await who(token)).status).toBe(401);
  });
});

describe('DELETE /api/auth/token/{user}', () => {
  const clear = (user: string) => app.call('DELETE', `/api/auth/token/${user}`, { token: admin });

  test('clears all tokens of a user; clearing none is 200', async () => {
    const tokens = [await make({ user: { id: 'bob' } }), await make({ user: { id: 'bob' }, name: 'ci' })];
    for (const token of tokens) expect((await who(token)).status).toBe(200);
    expect(await clear('bob')).toMatchObject({ status: 200, body: '' });
    for (const token of tokens) expect((await who(token)).status).toBe(401);
    expect((await clear('bob')).status).toBe(200);
  });

  test('knows a user by the name to show where no id is like it, and clears none that only looks like it', async () => {
    const carl = await make({ user: { id: 'carl', name: 'Carl the third' } });
    const fake = await make({ user: { id: 'eve', name: 'carl' } });
    expect((await clear('carl')).status).toBe(200);
    expect([(await who(carl)).status, (await who(fake)).status]).toEqual([401, 200]);
    const again = await make({ user: { id: 'carl', name: 'Carl the third' } });
    expect((await clear('Carl the third')).status).toBe(200);
    expect((await who(again)).status).toBe(401);
  });

  test('asks which one is meant where several are called so', async () => {
    const tokens = [await make({ user: { id: 'c1', name: 'Carl' } }), await make({ user: { id: 'c2', name: 'Carl' } })];
    expect(await clear('Carl')).toMatchObject({ status: 400, body: { errors: [{ field: 'user' }] } });
    for (const token of tokens) expect((await who(token)).status).toBe(200);
  });
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

describe('a token that an older version made', () => {
  /** As the rows were that it wrote. */
  const store = async (token: string, iterations = 1_000): Promise<void> => {
    const salt = randomBytes(16);
    const hash = pbkdf2Sync(token, salt, iterations, 64, 'sha1').toString('hex');
    const [key] = await app.sql('SELECT key FROM auth_lookup_key');
    await make({ user: { id: 'bob' } });
    const values = [`${iterations}:${salt.toString('hex')}:${hash}`, lookupDigest(token, key!['key'] as string)];
    await app.sql("UPDATE auth_token SET token_hash = $1, lookup_digest = $2 WHERE user_id = 'bob'", values);
  };

  test('goes on to count, whatever the parameters of its hash', async () => {
    await store('3f7a0c3e-19d5-4b7e-9f2a-6d1f0f3a9b11', 3_000);
    expect((await who('3f7a0c3e-19d5-4b7e-9f2a-6d1f0f3a9b11')).status).toBe(200);
    await store('a-long-text-that-its-user-has-chosen');
    expect((await who('a-long-text-that-its-user-has-chosen')).status).toBe(200);
    await app.sql("UPDATE auth_token SET token_hash = '1000:00:00' WHERE user_id = 'bob'");
    clock.millis += 15_000;
    expect((await who('a-long-text-that-its-user-has-chosen')).status).toBe(401);
  });

  test('does not when it was chosen and is short', async () => {
    for (const token of ['1', 'a text of my own']) {
      await store(token);
      expect((await who(token)).status).toBe(401);
    }
  });
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
