import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../support/auth/auth-app.js';
import { SmallIssuer } from '../support/auth/small-issuer.js';

let issuer: SmallIssuer;
let app: AuthApp;
/** Serves keys that are not the provider's, and counts who asks for them. */
let foreign: { server: Server; url: string; calls: string[]; jwk: JWK };
let forger: Awaited<ReturnType<typeof generateKeyPair>>;

beforeAll(async () => {
  issuer = await SmallIssuer.start();
  forger = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(forger.publicKey)), kid: 'first', alg: 'ES256', use: 'sig' };
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(request.url!);
    response.end(JSON.stringify({ keys: [jwk], issuer: issuer.name, jwks_uri: `${foreign.url}/keys` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  foreign = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, jwk };
  app = await startAuthApp({
    auth: {
      enabled: true,
      authenticators: ['OIDC', 'COOKIE', 'TOKEN'],
      adminGroups: ['admins'],
      oidc: { issuer: issuer.url, audience: 'muster' },
    },
    ui: { authCookieName: 'session' },
  });
});
afterAll(async () => {
  await app.close();
  await issuer.close();
  await new Promise((resolve) => foreign.server.close(resolve));
});

const seconds = (): number => Math.floor(Date.now() / 1_000);
const claims = (changes: JWTPayload = {}): JWTPayload => ({
  sub: 'admin',
  groups: ['admins'],
  iss: issuer.name,
  aud: 'muster',
  iat: seconds(),
  exp: seconds() + 300,
  ...changes,
});
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const forged = (header: Record<string, unknown>, changes: JWTPayload = {}): Promise<string> =>
  new SignJWT(claims(changes)).setProtectedHeader({ alg: 'ES256', ...header }).sign(forger.privateKey);
const hmac = (header: object, secret: string | Buffer, digest = 'sha256'): string => {
  const signed = `${part(header)}.${part(claims())}`;
  return `${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`;
};

/** As a bearer's token, and in the cookie of a page. */
async function statusOf(token: string): Promise<number[]> {
  const cookie = `session=${encodeURIComponent(JSON.stringify({ token }))}`;
  const ways: Record<string, string>[] = [{ Authorization: `Bearer ${token}` }, { Cookie: cookie }];
  return Promise.all(ways.map(async (headers) => (await app.call('GET', '/api/webhooks', { headers })).status));
}

/** Keys that the provider publishes: all that a forger knows of its key. */
async function published(): Promise<{ jwk: JWK; pem: string; x: Buffer }> {
  const { keys } = (await (await fetch(`${issuer.url}/keys`)).json()) as { keys: JWK[] };
  const key = await importJWK({ ...keys[0]!, ext: true }, 'ES256', { extractable: true });
  return { jwk: keys[0]!, pem: await exportSPKI(key as CryptoKey), x: Buffer.from(keys[0]!.x!, 'base64url') };
}

test('a token with these claims and the signature of the provider is a proof, as header and as cookie', async () => {
  expect(await statusOf(await issuer.signAsIs(claims()))).toEqual([200, 200]);
});

describe('a token is no proof', () => {
  beforeEach(() => void (foreign.calls.length = 0));

  test.each(['none', 'None', 'NONE', 'nOnE', '', ' none', 'null'])('when it says alg %j', async (alg) => {
    const head = part({ alg, typ: 'JWT', kid: 'first' });
    const good = await issuer.signAsIs(claims());
    for (const signature of ['', 'AAAA', good.split('.')[2]!]) {
      expect(await statusOf(`${head}.${part(claims())}.${signature}`)).toEqual([401, 401]);
    }
    expect(await statusOf(`${head}.${part(claims())}`)).toEqual([401, 401]);
  });

  test('when its header has no alg', async () => {
    const good = await issuer.signAsIs(claims());
    for (const header of [{}, { kid: 'first' }, { alg: null }, { alg: ['ES256'] }, { alg: 0 }]) {
      expect(await statusOf(`${part(header)}.${part(claims())}.${good.split('.')[2]}`)).toEqual([401, 401]);
    }
  });

  test.each(['HS256', 'HS384', 'HS512'])('when the published key was the secret of %s', async (alg) => {
    const { jwk, pem, x } = await published();
    const secrets = [pem, pem.trim(), JSON.stringify(jwk), x, '', 'secret', 'muster', issuer.name];
    for (const secret of secrets) {
      for (const kid of ['first', undefined]) {
        expect(await statusOf(hmac({ alg, kid }, secret, `sha${alg.slice(2)}`))).toEqual([401, 401]);
      }
    }
  });

  test('when another key signed it under the id of a known one', async () => {
    expect(await statusOf(await forged({ kid: 'first' }))).toEqual([401, 401]);
    expect(await statusOf(await forged({}))).toEqual([401, 401]);
    for (const alg of ['RS256', 'PS256', 'EdDSA', 'ES384']) {
      const { privateKey } = await generateKeyPair(alg);
      const token = await new SignJWT(claims()).setProtectedHeader({ alg, kid: 'first' }).sign(privateKey);
      expect(await statusOf(token), alg).toEqual([401, 401]);
    }
  });

  test('when it brings its key along', async () => {
    const { jwk } = foreign;
    expect(await statusOf(await forged({ jwk }))).toEqual([401, 401]);
    expect(await statusOf(await forged({ jwk, kid: 'first' }))).toEqual([401, 401]);
    const withPrivate = { ...jwk, ...(await exportJWK(forger.privateKey)) };
    expect(await statusOf(await forged({ jwk: withPrivate, kid: 'mine' }))).toEqual([401, 401]);
    const pem = (await exportSPKI(forger.publicKey)).replaceAll(/-----.*-----|\n/g, '');
    expect(await statusOf(await forged({ x5c: [pem], kid: 'first' }))).toEqual([401, 401]);
  });

  test('when it says where to find its key, and nothing is fetched from there', async () => {
    for (const name of ['jku', 'x5u', 'iss', 'jwks_uri', 'url']) {
      for (const kid of ['first', 'other', `${foreign.url}/keys`]) {
        expect(await statusOf(await forged({ [name]: `${foreign.url}/keys`, kid }))).toEqual([401, 401]);
      }
    }
    expect(await statusOf(await forged({ kid: 'first' }, { iss: foreign.url }))).toEqual([401, 401]);
    expect(foreign.calls).toEqual([]);
  });

  test.each([
    '../../../../dev/null',
    '/dev/null',
    'file:///dev/null',
    '/proc/sys/kernel/randomize_va_space',
    "' OR '1'='1",
    "x' UNION SELECT 'AAAA' -- ",
    '$(id)',
    '|id',
    '__proto__',
    'constructor',
    'first\u0000',
    'FIRST',
    ' first',
    '',
    'a'.repeat(4_000),
  ])('when its kid is %j', async (kid) => {
    expect(await statusOf(await forged({ kid }))).toEqual([401, 401]);
    // As if the file, or the row, that it leads to were an empty secret.
    for (const secret of ['', '0\n', 'AAAA', '\u0000']) {
      expect(await statusOf(hmac({ alg: 'HS256', kid }, secret))).toEqual([401, 401]);
    }
  });

  test('when its kid is no text', async () => {
    const good = (await issuer.signAsIs(claims())).split('.');
    for (const kid of [1, null, ['first'], { toString: 'first' }, true]) {
      expect(await statusOf(`${part({ alg: 'ES256', kid })}.${good[1]}.${good[2]}`)).toEqual([401, 401]);
    }
  });

  test.each<[string, () => JWTPayload]>([
    ['another audience', () => ({ aud: 'others' })],
    ['an audience that begins alike', () => ({ aud: 'muster2' })],
    ['an audience in other letters', () => ({ aud: 'Muster' })],
    ['no audience', () => ({ aud: undefined })],
    ['no audience in its list', () => ({ aud: [] })],
    ['other audiences', () => ({ aud: ['others', 'muster.example'] })],
    ['another issuer', () => ({ iss: 'http://elsewhere.example' })],
    ['an issuer with a slash more', () => ({ iss: `${issuer.name}/` })],
    ['an issuer that begins alike', () => ({ iss: `${issuer.name}.evil.example` })],
    ['no issuer', () => ({ iss: undefined })],
    ['a list of issuers', () => ({ iss: [issuer.name] as unknown as string })],
    ['an end that is past', () => ({ exp: seconds() - 60 })],
    ['an end at the beginning of time', () => ({ exp: 0 })],
    ['a negative end', () => ({ exp: -1 })],
    ['no end', () => ({ exp: undefined })],
    ['an end that is a text', () => ({ exp: `${seconds() + 300}` as unknown as number })],
    ['an end that is null', () => ({ exp: null as unknown as number })],
    ['an end that is a list', () => ({ exp: [seconds() + 300] as unknown as number })],
    ['a beginning to come', () => ({ nbf: seconds() + 120 })],
    ['a beginning that is a text', () => ({ nbf: '0' as unknown as number })],
    ['no subject', () => ({ sub: undefined })],
    ['an empty subject', () => ({ sub: '' })],
    ['a subject that is no text', () => ({ sub: { id: 'admin' } as unknown as string })],
  ])('with %s, though its signature is right', async (_what, changes) => {
    expect(await statusOf(await issuer.signAsIs(claims(changes())))).toEqual([401, 401]);
  });

  test('with a header that has to be understood and is not', async () => {
    expect(await statusOf(await issuer.signAsIs(claims(), { crit: ['future'], future: true }))).toEqual([401, 401]);
  });

  test('when any part of it was changed after it was signed', async () => {
    const [head, body, signature] = (await issuer.signAsIs(claims({ groups: ['web'] }))).split('.') as string[];
    const changed = [
      `${head}.${part(claims())}.${signature}`,
      `${part({ alg: 'ES256', kid: 'first', typ: 'JWT' })}.${body}.${signature}`,
      `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`,
      `${head}.${body}.${Buffer.alloc(64, 1).toString('base64url')}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      `${head}.${body}.${signature}.${signature}`,
      `${head}..${signature}`,
      `.${body}.${signature}`,
      `${head}.${body}.${signature!.slice(0, -4)}`,
      '..',
      'a.b.c',
      `${head}.${body}.${signature}`.replaceAll('.', '%2e'),
    ];
    for (const token of changed) expect(await statusOf(token), token).toEqual([401, 401]);
  });
});

test('of tokens with made-up keys the provider hears once in a while at most', async () => {
  await statusOf(await forged({ kid: 'unknown' }));
  const before = { reads: issuer.keyReads, documents: issuer.discoveries, begun: performance.now() };
  for (let number = 0; number < 50; number++) {
    expect(await statusOf(await forged({ kid: `unknown-${number}` }))).toEqual([401, 401]);
  }
  const cooldownMillis = 5_000;
  const most = Math.ceil((performance.now() - before.begun) / cooldownMillis);
  expect(issuer.keyReads - before.reads).toBeLessThanOrEqual(most);
  expect(issuer.discoveries).toBe(before.documents);
});
