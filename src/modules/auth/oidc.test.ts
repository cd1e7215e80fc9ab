import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { SmallIssuer } from '../../../test/support/auth/small-issuer.js';

let issuer: SmallIssuer;
let app: AuthApp;
const claims = {
  sub: 'ann',
  name: 'Ann',
  email: 'ann@example.com',
  realm_access: { roles: ['web', 'admins'] },
  scope: 'READ WRITE',
};

beforeAll(async () => {
  issuer = await SmallIssuer.start();
  app = await startAuthApp({
    auth: {
      enabled: true,
      authenticators: ['OIDC', 'COOKIE', 'TOKEN'],
      oidc: { issuer: issuer.url, audience: 'muster', groupsClaim: 'realm_access.roles' },
    },
    ui: { authCookieName: 'session' },
  });
});
afterAll(async () => {
  await app.close();
  await issuer.close();
});

const bearer = (token: string): Promise<Answer> =>
  app.call('GET', '/api/auth/user', { headers: { Authorization: `Bearer ${token}` } });

test('a provider that cannot be asked at first is asked again with the next call', async () => {
  issuer.broken = true;
  const refused = await bearer(await issuer.sign(claims));
  expect(refused.status).toBe(401);
  expect(refused.body.message).toContain('the provider of tokens cannot be asked for its keys');
  issuer.broken = false;
  expect((await bearer(await issuer.sign(claims))).status).toBe(200);
});

test('the claims of a token name the user, their groups and their scopes', async () => {
  expect((await bearer(await issuer.sign(claims))).body['user']).toEqual({
    id: 'ann',
    name: 'Ann',
    email: 'ann@example.com',
    groups: ['web', 'admins'],
    scopes: ['READ', 'WRITE'],
    authenticated: true,
  });
});

test('the document of the provider is read once', async () => {
  await bearer(await issuer.sign(claims));
  const before = issuer.discoveries;
  await bearer(await issuer.sign(claims));
  expect(issuer.discoveries).toBe(before);
});

describe('a token is refused that', () => {
  const refusal = async (token: string) => (await bearer(token)).body.message;

  test('another issuer made', async () => {
    expect(await refusal(await issuer.sign(claims, { issuer: 'http://elsewhere' }))).toContain(
      'OIDC: the token is refused: ERR_JWT_CLAIM_VALIDATION_FAILED',
    );
  });
  test('is for another audience', async () => {
    expect(await refusal(await issuer.sign(claims, { audience: 'others' }))).toContain('CLAIM_VALIDATION_FAILED');
  });
  test('has expired', async () => {
    expect(await refusal(await issuer.sign(claims, { expires: '-1m' }))).toContain('ERR_JWT_EXPIRED');
  });
  test('was signed by another issuer in the name of a known key', async () => {
    const other = await SmallIssuer.start();
    other.name = issuer.name;
    const forged = await other.sign(claims, { keyId: 'first' });
    await other.close();
    expect(await refusal(forged)).toContain('ERR_JWS_SIGNATURE_VERIFICATION_FAILED');
  });
  test('was signed with a shared secret', async () => {
    const signed = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer.name)
      .setAudience('muster');
    const token = await signed.setExpirationTime('5m').sign(new TextEncoder().encode('public key'.repeat(4)));
    expect(await refusal(token)).toContain('ERR_JOSE_ALG_NOT_ALLOWED');
  });
  test('is not signed at all', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = Math.floor(Date.now() / 1000) + 300;
    const token = `${part({ alg: 'none' })}.${part({ ...claims, iss: issuer.name, aud: 'muster', exp })}.`;
    expect((await bearer(token)).status).toBe(401);
  });
  test('names no user', async () => {
    expect(await refusal(await issuer.sign({ ...claims, sub: undefined }))).toContain('the token has no claim sub');
  });
  test.each(['logout+jwt', 'dpop+jwt', 'application/logout+jwt', 'secevent+jwt', ''])(
    'is of the type %j',
    async (type) => {
      expect(await refusal(await issuer.sign(claims, { type }))).toContain('its typ is none of jwt, at+jwt');
    },
  );
  test.each(['JWT', 'at+jwt', 'application/at+JWT', undefined])('is not one of the type %s', async (type) => {
    expect((await bearer(await issuer.sign(claims, { type }))).status).toBe(200);
  });
  test('was issued in the future', async () => {
    const issuedAt = Math.floor(Date.now() / 1_000) + 90;
    expect(await refusal(await issuer.sign(claims, { issuedAt }))).toContain('it was issued in the future');
    expect((await bearer(await issuer.sign(claims, { issuedAt: issuedAt - 80 }))).status).toBe(200);
  });
  test('is none, and nothing of it is repeated', async () => {
    const message = await refusal('swordfish');
    expect(message).toContain('OIDC: the token is refused: ERR_JWS_INVALID');
    expect(message).not.toContain('swordfish');
  });
});

describe('the cookie of a page', () => {
  let token: string;
  let cookie: string;
  const cookieFor = (value: unknown) => `other=1; session=${encodeURIComponent(JSON.stringify(value))}`;
  beforeEach(async () => {
    token = await issuer.sign(claims);
    cookie = cookieFor({ token });
  });
  const ask = (headers: Record<string, string>, method = 'GET', path = '/api/auth/user') =>
    app.call(method, path, { headers });
  const star = (headers: Record<string, string>) =>
    app.call('POST', '/api/users/settings/starred-requests', { headers, body: { starredRequestIds: ['a'] } });

  test('is worth what a token of a bearer is worth: of the provider, or made here', async () => {
    expect((await ask({ Cookie: cookie })).body).toMatchObject({ user: { id: 'ann' } });
    const own = await app.tokenOf({ id: 'bob' });
    expect((await ask({ Cookie: cookieFor({ token: own }) })).body).toMatchObject({ user: { id: 'bob' } });
  });

  test('changes something only from a page of this service', async () => {
    expect((await star({ Cookie: cookie, Origin: app.url })).status).toBe(204);
    for (const origin of ['http://evil.example', 'null', `${app.url}0`]) {
      expect((await star({ Cookie: cookie, Origin: origin })).status, origin).toBe(403);
    }
    // A proxy may speak HTTPS for this service; the cookie counts only where that is its advertised address.
    const refused = await star({ Cookie: cookie, Origin: app.url.replace('http', 'https') });
    expect(refused.status).toBe(401);
    expect(refused.body.message).toContain('COOKIE: a POST with cookie session needs the Origin of this service');
    expect((await star({ Cookie: cookie })).status).toBe(401);
  });

  test.each([
    ['is none', 'other=1'],
    ['is not JSON', 'session=swordfish'],
    ['has no such member', cookieFor({ tokens: 'x' })],
    ['has something else than a text', cookieFor({ token: 7 })],
    ['is null', 'session=null'],
    ['has an unknown token', cookieFor({ token: 'swordfish' })],
    ['is malformed', 'session=%7B%'],
  ])('that %s identifies no user', async (_name, value) => {
    const refused = await ask({ Cookie: value });
    expect(refused.status).toBe(401);
    expect(refused.body.message).not.toContain('swordfish');
  });
});

test('a token made with one of the provider ends with it, at the latest', async () => {
  const make = async (body: unknown, expires: string): Promise<Answer> => {
    const headers = { Authorization: `Bearer ${await issuer.sign(claims, { expires })}` };
    return app.call('POST', '/api/auth/token', { body, headers });
  };
  const inSeconds = (at: unknown): number => (Number(at) - Date.now()) / 1_000;
  const made = await make({}, '1h');
  expect(inSeconds(made.body['expiresAt'])).toBeLessThanOrEqual(3_600);
  // Nor does one made with that one, whatever user it is for.
  const token = made.body['token'] as string;
  for (const body of [{}, { user: { id: 'robot', groups: ['admins'] } }]) {
    const next = await app.call('POST', '/api/auth/token', { body: { ...body, name: 'next' }, token });
    expect(next.body['expiresAt']).toBe(made.body['expiresAt']);
  }
  const later = await make({ expiresAt: Date.now() + 7_200_000 }, '1h');
  expect(later).toMatchObject({ status: 400, body: { errors: [{ field: 'expiresAt' }] } });
});

test('a user of the provider who calls themselves like another takes no token away from them', async () => {
  const ann = await app.tokenOf({ id: 'ann-of-us', name: 'Ann' });
  const sameId = await app.tokenOf({ id: 'ann' });
  const headers = { Authorization: `Bearer ${await issuer.sign(claims)}` };
  expect((await app.call('POST', '/api/auth/token', { headers })).status).toBe(200);
  for (const token of [ann, sameId]) expect((await app.call('GET', '/api/auth/user', { token })).status).toBe(200);
  const own = await app.call('GET', '/api/auth/tokens', { headers });
  expect(new Set(Object.values(own.body).map((token) => (token as { issuer: string }).issuer))).toEqual(
    new Set([issuer.url]),
  );
  expect((await app.call('GET', '/api/auth/tokens', { token: sameId })).body).toMatchObject([{ issuer: 'muster' }]);
});

describe('the keys of the provider', () => {
  const startFresh = async (): Promise<(token: string) => Promise<number>> => {
    const oidc = { issuer: issuer.url, audience: 'muster', keysMaxAgeMillis: 1_000 };
    const fresh = await startAuthApp({ auth: { enabled: true, authenticators: ['OIDC'], oidc } });
    onTestFinished(() => fresh.close());
    return async (token) =>
      (await fresh.call('GET', '/api/auth/user', { headers: { Authorization: `Bearer ${token}` } })).status;
  };

  test('count as soon as they are there, and no more soon after they are gone', async () => {
    const status = await startFresh();
    const first = await issuer.sign(claims);
    expect(await status(first)).toBe(200);
    await issuer.addKey('second');
    const second = await issuer.sign(claims);
    await waitFor('the new key to count', async () => (await status(second)) === 200);
    issuer.withdrawKey('second');
    await waitFor('the old key not to count', async () => (await status(second)) === 401);
    expect(await status(first)).toBe(200);
  });
});
