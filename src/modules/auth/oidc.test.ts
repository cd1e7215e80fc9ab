import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  test('was signed by somebody else in the name of a known key', async () => {
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
  ])('that %s identifies nobody', async (_name, value) => {
    const refused = await ask({ Cookie: value });
    expect(refused.status).toBe(401);
    expect(refused.body.message).not.toContain('swordfish');
  });
});

test('keys that the provider adds later are found', async () => {
  // It is asked for its keys again at most every 30 seconds; an application of its own has not asked yet.
  const fresh = await startAuthApp({
    auth: { enabled: true, authenticators: ['OIDC'], oidc: { issuer: issuer.url, audience: 'muster' } },
  });
  await issuer.addKey('second');
  const headers = { Authorization: `Bearer ${await issuer.sign(claims)}` };
  expect((await fresh.call('GET', '/api/auth/user', { headers })).status).toBe(200);
  await fresh.close();
});
