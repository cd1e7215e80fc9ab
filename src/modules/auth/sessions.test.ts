import type { Request } from 'express';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  startAuthApp,
  authSettings,
  callWith,
  type Answer,
  type AuthApp,
} from '../../../test/support/auth/auth-app.js';
import { SmallIssuer } from '../../../test/support/auth/small-issuer.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { startTestApp } from '../../../test/support/test-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { isOwnOrigin } from './authenticators/own-origin.js';
import { pathOf } from './sessions/session-cookie.js';

let app: AuthApp;
let issuer: SmallIssuer;
const path = '/api/auth/session';
const bootstrapToken = 'first-of-all-tokens';

beforeAll(async () => {
  issuer = await SmallIssuer.start();
  const auth = {
    enabled: true,
    adminGroups: ['admins'],
    bootstrapToken,
    oidc: { issuer: issuer.url, audience: 'muster' },
  };
  app = await startAuthApp({ auth });
});
afterAll(async () => {
  await app.close();
  await issuer.close();
});

const origin = (of = app): Record<string, string> => ({ Origin: of.url });
const signIn = (token: unknown, of = app, headers = origin(of)): Promise<Answer> =>
  of.call('POST', path, { body: { token }, headers });
const cookieIn = (answer: Answer): string => answer.headers.getSetCookie()[0]!.split(';')[0]!;
const cookieOf = async (token: string, of = app): Promise<string> => {
  const answer = await signIn(token, of);
  expect(answer.status).toBe(200);
  return cookieIn(answer);
};
const who = (cookie: string, of = app): Promise<Answer> =>
  of.call('GET', '/api/auth/user', { headers: { Cookie: cookie } });
const ann = { id: 'ann', groups: ['web'] };

describe('a browser is signed in', () => {
  test('with a token: by a cookie that no script reads and no other site sends, whose text is not kept', async () => {
    const answer = await signIn(await app.tokenOf(ann));
    const user = { id: 'ann', name: 'ann', groups: ['web'], scopes: [], authenticated: true };
    const told = { user, authenticated: true, authEnabled: true, administrator: false, createsRequests: true };
    expect(answer.body).toEqual({ ...told, sessionEndsAt: expect.any(Number) });
    const [set] = answer.headers.getSetCookie();
    expect(set).toMatch(
      /^muster=muster_session_[\w-]{43}; Max-Age=\d+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    expect(Number(/Max-Age=(\d+)/.exec(set!)![1])).toBeGreaterThan(11 * 3_600);
    const cookie = cookieIn(answer);
    expect((await who(cookie)).body).toEqual(answer.body);
    const stored = JSON.stringify(await app.sql('SELECT * FROM auth_session'));
    expect(stored).not.toContain(cookie.split('muster_session_')[1]);
  });

  test('and may change what the user may change, from a page of this service alone', async () => {
    const cookie = await cookieOf(await app.tokenOf(ann));
    const make = (headers: Record<string, string>) =>
      app.call('POST', '/api/requests', {
        body: { id: 'web', requestType: 'ON_DEMAND', group: 'web' },
        headers: { Cookie: cookie, ...headers },
      });
    expect((await make({})).status).toBe(401);
    expect((await make({ Origin: 'http://evil.example' })).status).toBe(403);
    expect((await make(origin())).status).toBe(200);
  });

  test('with a token of the provider, until that ends', async () => {
    const token = await issuer.sign({ sub: 'carl', groups: ['web'] }, { expires: '5m' });
    const answer = await signIn(token);
    expect(answer.body['user']).toMatchObject({ id: 'carl', groups: ['web'] });
    expect(answer.body['sessionEndsAt']).toBe(decodeJwt(token).exp! * 1_000);
    expect((await who(cookieIn(answer))).body['user']).toMatchObject({ id: 'carl' });
  });

  test('not for longer than the token counts', async () => {
    const token = await app.tokenOf({ id: 'dora' });
    await app.sql("UPDATE auth_token SET expires_at = now() + interval '1 hour' WHERE user_id = 'dora'");
    const answer = await signIn(token);
    expect(Number(/Max-Age=(\d+)/.exec(answer.headers.getSetCookie()[0]!)![1])).toBeLessThanOrEqual(3_600);
  });

  test('each time anew, whatever Idempotency-Key the call bears, and no answer of it is kept', async () => {
    const token = await app.tokenOf(ann);
    const headers = { ...origin(), 'Idempotency-Key': 'again' };
    const [first, second] = [await signIn(token, app, headers), await signIn(token, app, headers)];
    expect(cookieIn(first)).not.toBe(cookieIn(second));
    expect(await app.sql('SELECT 1 FROM idempotent_call')).toEqual([]);
  });

  test('with at most 100 browsers: the oldest one is signed out', async () => {
    const token = await app.tokenOf({ id: 'many' });
    const first = await cookieOf(token);
    await app.sql(
      `INSERT INTO auth_session SELECT 'made-' || n, 'muster', 'many', '{}'::jsonb, NULL, now() + n * interval '1 ms', now() + interval '1 h'
       FROM generate_series(1, 99) AS n`,
    );
    const last = await cookieOf(token);
    expect([(await who(first)).status, (await who(last)).status]).toEqual([401, 200]);
    expect(await app.sql("SELECT count(*)::int AS count FROM auth_session WHERE user_id = 'many'")).toEqual([
      { count: 100 },
    ]);
  });

  test('and the audit trail has who it was', async () => {
    const headers = { ...origin(), 'X-Request-Id': 'sign-in' };
    await signIn(await app.tokenOf(ann), app, headers);
    const [row] = await waitFor('the row', async () => {
      const rows = await app.sql("SELECT * FROM v_audit WHERE call_id = 'sign-in'");
      return rows.length > 0 && rows;
    });
    expect(row).toMatchObject({ caller: 'ann', proven_by: 'TOKEN', operation: `POST ${path}`, status: 200 });
  });
});

describe('nobody is signed in', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an empty text', ''],
    ['a number', 7],
    ['a text that is too long', 'x'.repeat(8_001)],
  ])('with %s for a token: 400', async (_what, token) => {
    const answer = await signIn(token);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'token' }] } });
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test('with a token that opens nothing: 401', async () => {
    const answer = await signIn('muster_0000000000000000_' + 'x'.repeat(43));
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ['another origin', { Origin: 'http://evil.example' }],
    ['another port', { Origin: 'http://127.0.0.1:1' }],
    ['a file', { Origin: 'null' }],
    ['nowhere', {}],
  ])('from a page of %s, nor out: 403', async (_from, headers) => {
    const token = await app.tokenOf(ann);
    const cookie = await cookieOf(token);
    const refused = { status: 403, body: { code: 'FOREIGN_ORIGIN' } };
    expect(await signIn(token, app, headers)).toMatchObject(refused);
    expect(await app.call('DELETE', path, { headers: { Cookie: cookie, ...headers } })).toMatchObject(refused);
    expect((await who(cookie)).status).toBe(200);
  });

  test('with a wrong token over and over: 429, as in a header', async () => {
    const strict = await startAuthApp({ auth: { enabled: true, bootstrapToken, failuresBeforeDelay: 3 } });
    onTestFinished(() => strict.close());
    // The first waits are short: on a slow machine they are over before the next guess.
    let refusal = await signIn('a guess of mine', strict);
    for (let left = 20; left > 0 && refusal.status === 401; left--) refusal = await signIn(`guess ${left}`, strict);
    expect(refusal).toMatchObject({ status: 429, body: { code: 'TOO_MANY_FAILURES' } });
    expect(refusal.headers.get('retry-after')).toMatch(/^\d+$/);
    // What cannot be guessed is looked at all the same.
    expect((await signIn(await strict.tokenOf(ann), strict)).status).toBe(200);
  });

  test.each([{ auth: {} }, { auth: { enabled: true, authenticators: ['TOKEN'] } }])(
    'where the settings have no sessions: 409, %j',
    async (file) => {
      const without = await startAuthApp(file);
      onTestFinished(() => without.close());
      const answer = await signIn(await without.tokenOf(ann), without);
      expect(answer).toMatchObject({ status: 409, body: { code: 'SESSIONS_NOT_OFFERED' } });
    },
  );
});

describe('a session ends', () => {
  test('when its user signs out; what others have goes on', async () => {
    const token = await app.tokenOf(ann);
    const [here, there] = [await cookieOf(token), await cookieOf(token)];
    const answer = await app.call('DELETE', path, { headers: { Cookie: here, ...origin() } });
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([
      'muster=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict',
    ]);
    expect([(await who(here)).status, (await who(there)).status]).toEqual([401, 200]);
    expect((await app.call('DELETE', path, { headers: { Cookie: here, ...origin() } })).status).toBe(200);
  });

  test('by the clock of the database', async () => {
    const cookie = await cookieOf(await app.tokenOf({ id: 'eve' }));
    await app.sql("UPDATE auth_session SET expires_at = now() WHERE user_id = 'eve'");
    const answer = await who(cookie);
    expect([answer.status, answer.body.message]).toEqual([401, expect.stringContaining('the session has ended')]);
  });

  test.each<[string, (token: string) => Promise<unknown>]>([
    [
      'is revoked',
      async (token) => {
        const admin = await app.tokenOf({ id: 'root', groups: ['admins'] });
        return app.call('DELETE', `/api/auth/tokens/${token.split('_')[1]}`, { token: admin });
      },
    ],
    ['has another one in its place', () => app.tokenOf({ id: 'fred' })],
    ['has ended', () => app.sql("UPDATE auth_token SET expires_at = now() WHERE user_id = 'fred'")],
  ])('with its token, when that %s', async (_how, end) => {
    const token = await app.tokenOf({ id: 'fred' });
    const cookie = await cookieOf(token);
    expect((await who(cookie)).status).toBe(200);
    await end(token);
    expect((await who(cookie)).status).toBe(401);
  });

  test('with all others of a user whose tokens are taken away', async () => {
    const token = await issuer.sign({ sub: 'gina' });
    const cookie = await cookieOf(token);
    const admin = await app.tokenOf({ id: 'root', groups: ['admins'] });
    expect((await app.call('DELETE', '/api/auth/token/gina', { token: admin })).status).toBe(200);
    expect((await who(cookie)).status).toBe(401);
  });

  test('with the token of the settings, when it is taken out of them', async () => {
    const { url: databaseUrl, remove } = await createDatabase();
    const auth = { enabled: true, adminGroups: ['admins'] };
    const first = await startAuthApp({ auth: { ...auth, bootstrapToken } }, { databaseUrl });
    const cookie = await cookieOf(bootstrapToken, first);
    expect((await who(cookie, first)).status).toBe(200);
    await first.close();
    const next = await startAuthApp({ auth: { ...auth, bootstrapToken: 'another-first-token' } }, { databaseUrl });
    onTestFinished(async () => {
      await next.close();
      await remove();
    });
    expect((await who(cookie, next)).status).toBe(401);
  });
});

test('sessions that have ended are no wrong proofs, and make nobody wait', async () => {
  const strict = await startAuthApp({ auth: { enabled: true, failuresBeforeDelay: 2 } });
  onTestFinished(() => strict.close());
  const cookie = await cookieOf(await strict.tokenOf(ann), strict);
  await strict.sql('TRUNCATE auth_session');
  for (let left = 30; left > 0; left--) expect((await who(cookie, strict)).status).toBe(401);
  for (let left = 30; left > 0; left--) expect((await who(`other=${left}`, strict)).status).toBe(401);
});

test('behind a proxy that speaks TLS the cookie goes by TLS alone, and to the context path', async () => {
  const settings = {
    ...authSettings({ auth: { enabled: true, bootstrapToken }, http: { contextPath: '/east' } }),
    advertisedUrl: 'https://muster.example',
  };
  const secure = await startTestApp({ settings });
  onTestFinished(() => secure.close());
  const root = secure.url.endsWith('/east') ? secure.url : `${secure.url}/east`;
  const set = async (pageOrigin: string): Promise<string> => {
    const sent = { body: { token: bootstrapToken }, headers: { Origin: pageOrigin } };
    return (await callWith(`${root}${path}`, 'POST', sent)).headers.getSetCookie()[0]!;
  };
  expect(await set('https://muster.example')).toMatch(/; Path=\/east; .*; HttpOnly; Secure; SameSite=Strict$/);
  expect(await set(new URL(secure.url).origin)).not.toContain('Secure');
});

test.each([
  ['', ''],
  ['/east', '/east'],
])('with ui.baseUrl %j the Origin %j is no page of this service', (baseUrl, origin) => {
  const headers: Record<string, string> = { origin, host: 'muster.example' };
  const call = { protocol: 'http', get: (name: string) => headers[name] } as Request;
  expect(isOwnOrigin(call, { ui: { baseUrl } } as Parameters<typeof isOwnOrigin>[1])).toBe(false);
});

test('a page at ui.baseUrl is one of this service, wherever the scheduler is advertised', async () => {
  const file = { auth: { enabled: true, bootstrapToken }, ui: { baseUrl: 'https://muster.example' } };
  const settings = { ...authSettings(file), advertisedUrl: 'http://10.0.0.1:7099' };
  const behind = await startTestApp({ settings });
  onTestFinished(() => behind.close());
  const Origin = 'https://muster.example';
  const sent = { body: { token: bootstrapToken }, headers: { Origin } };
  const Cookie = cookieIn(await callWith(`${behind.url}${path}`, 'POST', sent));
  const star = (from: string) =>
    callWith(`${behind.url}/api/users/settings/starred-requests`, 'POST', {
      body: { starredRequestIds: ['web'] },
      headers: { Cookie, Origin: from },
    });
  expect((await star('https://other.example')).status).toBe(403);
  expect((await star(Origin)).status).toBe(204);
});

test.each([
  ['', '', '/'],
  ['', '/east', '/east'],
  ['/proxied/', '/east', '/proxied'],
  ['https://muster.example', '', '/'],
  ['https://muster.example/west/', '', '/west'],
])('the path of the cookie with ui.baseUrl %j and http.contextPath %j is %s', (baseUrl, contextPath, expected) => {
  expect(pathOf({ ui: { baseUrl }, http: { contextPath } } as Parameters<typeof pathOf>[0])).toBe(expected);
});
