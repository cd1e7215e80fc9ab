import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { SmallIssuer } from '../../../test/support/auth/small-issuer.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Database } from '../../platform/database/database.js';
import { AuthSessionRepository } from './sessions/auth-session.repository.js';
import { AuthTokenRepository } from './tokens/auth-token.repository.js';

/* Tokens and sessions that are made while those of their user are cleared, and limits of several at once. */

let app: AuthApp;
let issuer: SmallIssuer;
let admin: string;
beforeAll(async () => {
  issuer = await SmallIssuer.start();
  const oidc = { issuer: issuer.url, audience: 'muster' };
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'], tokensPerUser: 2, oidc } });
  admin = await app.tokenOf({ id: 'alma', groups: ['admins'] });
});
afterAll(async () => {
  await app.close();
  await issuer.close();
});
afterEach(() => vi.restoreAllMocks());

const make = (name: string, token: string, user?: object): Promise<Answer> =>
  app.call('POST', '/api/auth/token', { body: { name, user }, token });
const clear = (user: string): Promise<Answer> => app.call('DELETE', `/api/auth/token/${user}`, { token: admin });
const signIn = (token: string): Promise<Answer> =>
  app.call('POST', '/api/auth/session', { body: { token }, headers: { Origin: app.url } });
const cookieIn = (answer: Answer) => ({ Cookie: answer.headers.getSetCookie()[0]!.split(';')[0]!, Origin: app.url });
const statusOf = async (sent: { token?: string; headers?: Record<string, string> }): Promise<number> =>
  (await app.call('GET', '/api/auth/user', sent)).status;

/** A token whose use was noted already: the note would wait for the row, which says nothing of the calls. */
async function usedToken(user: { id: string; groups?: string[] }): Promise<string> {
  const token = await app.tokenOf(user);
  await statusOf({ token });
  await waitFor('the use to be noted', async () => {
    const sql = 'SELECT 1 FROM auth_token WHERE user_id = $1 AND last_used_at IS NOT NULL';
    return (await app.sql(sql, [user.id])).length > 0;
  });
  return token;
}

/** The next call of `method` keeps its transaction open until calls that are made then have been answered, or wait for a lock. */
function meanwhile(
  on: typeof AuthTokenRepository | typeof AuthSessionRepository,
  method: 'put' | 'remove' | 'removeOf',
  calls: () => Promise<Answer>[],
): Promise<Answer[]> {
  const repository = app.get<Record<string, (...parameters: unknown[]) => Promise<unknown>>>(on as never);
  const work = repository[method]!;
  return new Promise((resolve) => {
    vi.spyOn(repository, method).mockImplementationOnce(async (...parameters) => {
      const result = await work.apply(repository, parameters);
      const answers = Promise.all(calls());
      resolve(answers);
      await Promise.race([answers, lockAwaited(app.get(Database).pool)]);
      return result;
    });
  });
}

describe('when all tokens of a user are cleared', () => {
  test('one that the user is making is cleared as well', async () => {
    const first = await usedToken({ id: 'ann' });
    const cleared = meanwhile(AuthTokenRepository, 'put', () => [clear('ann')]);
    const made = await make('more', first);
    expect([made.status, ...(await cleared).map(({ status }) => status)]).toEqual([200, 200]);
    expect(await statusOf({ token: made.body['token'] as string })).toBe(401);
    expect(await app.sql("SELECT 1 FROM auth_token WHERE user_id = 'ann'")).toEqual([]);
  });

  test('one that the user makes after that is refused', async () => {
    const first = await usedToken({ id: 'ann' });
    const made = meanwhile(AuthTokenRepository, 'remove', () => [make('more', first)]);
    expect(await clear('ann')).toMatchObject({ status: 200 });
    expect(await made).toMatchObject([{ status: 401, body: { code: 'UNAUTHENTICATED' } }]);
    expect(await app.sql("SELECT 1 FROM auth_token WHERE user_id = 'ann'")).toEqual([]);
  });

  test('one that the user makes by a session after that is refused', async () => {
    const headers = cookieIn(await signIn(await issuer.sign({ sub: 'ann' })));
    const made = meanwhile(AuthSessionRepository, 'removeOf', () => [
      app.call('POST', '/api/auth/token', { body: {}, headers }),
    ]);
    expect(await clear('ann')).toMatchObject({ status: 200 });
    expect(await made).toMatchObject([{ status: 401, body: { code: 'UNAUTHENTICATED' } }]);
    expect(await app.sql("SELECT 1 FROM auth_token WHERE user_id = 'ann'")).toEqual([]);
  });

  test('one that an administrator makes for another user after the own was cleared is refused', async () => {
    const stolen = await usedToken({ id: 'eve', groups: ['admins'] });
    const made = meanwhile(AuthTokenRepository, 'remove', () => [make('', stolen, { id: 'friend' })]);
    expect(await clear('eve')).toMatchObject({ status: 200 });
    expect(await made).toMatchObject([{ status: 401, body: { code: 'UNAUTHENTICATED' } }]);
  });

  test('a session that is being made ends', async () => {
    const cleared = meanwhile(AuthSessionRepository, 'put', () => [clear('ann')]);
    const session = await signIn(await issuer.sign({ sub: 'ann' }));
    expect([session.status, ...(await cleared).map(({ status }) => status)]).toEqual([200, 200]);
    expect(await statusOf({ headers: cookieIn(session) })).toBe(401);
  });

  test('a session that is begun with one of them after that is refused', async () => {
    const first = await usedToken({ id: 'ann' });
    const begun = meanwhile(AuthTokenRepository, 'remove', () => [signIn(first)]);
    expect(await clear('ann')).toMatchObject({ status: 200 });
    expect(await begun).toMatchObject([{ status: 401, body: { code: 'UNAUTHENTICATED' } }]);
  });
});

test('no user gets more than tokensPerUser of several that are made at once', async () => {
  const others = meanwhile(AuthTokenRepository, 'put', () =>
    ['b', 'c'].map((name) => make(name, admin, { id: 'dora' })),
  );
  const answers = [await make('a', admin, { id: 'dora' }), ...(await others)];
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
});
