import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EveryOperation, operationIn, reached } from '../support/auth/every-operation.js';
import { letThrough } from '../support/auth/guarded-app.js';

let stage: EveryOperation;
let here: string;
beforeAll(async () => {
  stage = await EveryOperation.start({ ui: { authCookieName: 'session' } }, ['COOKIE', 'TOKEN']);
  here = new URL(stage.app.url).host;
});
afterAll(() => stage.close());

const session = (value: unknown): string => `session=${encodeURIComponent(JSON.stringify(value))}`;
const ofAdmin = (): string => session({ token: stage.tokens.admin });

describe('the cookie of an administrator, sent by a browser for a page', () => {
  /** Headers by which a browser says where the page is from; the last ones as no browser would. */
  const foreign: [string, () => Record<string, string>][] = [
    ['of another host', () => ({ Origin: 'http://evil.example' })],
    ['of another host that speaks HTTPS', () => ({ Origin: 'https://evil.example' })],
    ['in a sandbox, or from a file', () => ({ Origin: 'null' })],
    ['of another port', () => ({ Origin: `http://${here}1` })],
    ['of this host without its port', () => ({ Origin: `http://${here.split(':')[0]}` })],
    ['of a host whose name ends alike', () => ({ Origin: `http://evil${here}` })],
    ['of a host below this one', () => ({ Origin: `http://${here}.evil.example` })],
    ['of another name of this machine', () => ({ Origin: `http://localhost:${here.split(':')[1]}` })],
    ['of an extension', () => ({ Origin: `chrome-extension://${here}` })],
    ['of a file', () => ({ Origin: 'file://' })],
    ['with this host as the name of a user', () => ({ Origin: `http://${here}@evil.example` })],
    ['with this host behind the other one', () => ({ Origin: `http://evil.example/${here}` })],
    ['of two hosts', () => ({ Origin: `http://${here}, http://evil.example` })],
    ['of two hosts, blank between', () => ({ Origin: `http://evil.example http://${here}` })],
    ['of an empty origin', () => ({ Origin: '' })],
    ['of this service, says only its Referer', () => ({ Referer: `http://${here}/ui` })],
    ['that does not say', () => ({})],
    ['of another site', () => ({ 'Sec-Fetch-Site': 'cross-site' })],
    ['of this site', () => ({ 'Sec-Fetch-Site': 'same-site' })],
    ['that says it was forwarded', () => ({ 'X-Forwarded-Host': 'evil.example', Origin: 'http://evil.example' })],
    ['that says what it is', () => ({ 'X-Requested-With': 'XMLHttpRequest' })],
  ];

  test.each(foreign)('%s, changes nothing', async (_what, headers) => {
    const more = { Cookie: ofAdmin(), ...headers() };
    const writes = stage.with('POST', 'PUT', 'DELETE');
    expect(writes.length).toBeGreaterThan(60);
    for (const [number, { name, method, path }] of writes.entries()) {
      if (number % 3 !== foreign.findIndex(([what]) => what === _what) % 3) continue;
      const answer = await stage.raw.call(path, { method, headers: more });
      expect(reached(answer), name).toBeUndefined();
      expect([401, 403], name).toContain(answer.status);
    }
  });

  test('of this service, changes what the administrator may change', async () => {
    const headers = { Cookie: ofAdmin(), Origin: `http://${here}`, 'Content-Type': 'application/json' };
    for (const { name, method, path } of stage.with('DELETE')) {
      const answer = await stage.raw.call(path, { method, headers, body: '{}' });
      expect([answer.status, operationIn(answer) ?? answer.body], name).toEqual([letThrough, name]);
    }
  });

  test('is told to no other origin: no answer may be read there', async () => {
    for (const [, headers] of foreign) {
      for (const method of ['GET', 'OPTIONS']) {
        const asked = { 'Access-Control-Request-Method': 'DELETE', 'Access-Control-Request-Headers': 'authorization' };
        const more = { Cookie: ofAdmin(), ...headers(), ...(method === 'OPTIONS' && asked) };
        const answer = await stage.raw.call('/api/requests', { method, headers: more });
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
      }
    }
  });
});

describe('a cookie', () => {
  const token = (): string => stage.tokens.admin;
  test.each<[string, () => string]>([
    ['without a value', () => 'session='],
    ['without an equals sign', () => 'session'],
    ['of another name', () => ofAdmin().replace('session', 'Session')],
    ['whose name begins alike', () => ofAdmin().replace('session', 'session2')],
    ['with the text of the token alone', () => `session=${token()}`],
    ['with the token as a JSON text', () => `session=${encodeURIComponent(JSON.stringify(token()))}`],
    ['with a list', () => session([token()])],
    ['with a token in a list', () => session({ token: [token()] })],
    ['with a token in a record', () => session({ token: { token: token() } })],
    ['with a number', () => session(1)],
    ['with true', () => session(true)],
    ['with true for a token', () => session({ token: true })],
    ['with an empty token', () => session({ token: '' })],
    ['with a member of prototypes for a token', () => session({ token: '__proto__' })],
    [
      'with a prototype that has the token',
      () => `session=${encodeURIComponent(`{"__proto__":{"token":"${token()}"}}`)}`,
    ],
    [
      'with a constructor that has the token',
      () => `session=${encodeURIComponent(`{"constructor":{"prototype":{"token":"${token()}"}}}`)}`,
    ],
    ['named __proto__', () => `__proto__=${encodeURIComponent(JSON.stringify({ token: token() }))}`],
    [
      'that is encoded twice',
      () => `session=${encodeURIComponent(encodeURIComponent(JSON.stringify({ token: token() })))}`,
    ],
    ['that is encoded by half', () => 'session=%7B%22token%22%3A%'],
    ['that is cut', () => ofAdmin().slice(0, -3)],
    ['with more behind its end', () => `${ofAdmin()}x`],
    ['of bytes that are no ASCII', () => 'session=\u00ff\u00fe'],
    ['with a JSON text as deep as it is long', () => `session=${'['.repeat(5_000)}`],
    ['of a thousand cookies before it', () => `${'a=1; '.repeat(1_000)}session=x`],
    ['that comes second, behind a wrong one', () => `session=x; ${ofAdmin()}`],
    ['in quotes that do not end', () => `session="${ofAdmin().slice('session='.length)}`],
  ])('%s identifies no caller', async (_what, value) => {
    const answer = await stage.raw.call('/api/webhooks', { headers: { Cookie: value() } });
    expect(answer.status).toBe(401);
    expect(answer.body).not.toContain(token());
  });

  test('of an administrator identifies one', async () => {
    const read = (cookie: string) => stage.raw.call('/api/webhooks', { headers: { Cookie: cookie } });
    expect((await read(ofAdmin())).status).toBe(letThrough);
    expect((await read(`__proto__=x; ${ofAdmin()}; constructor=y`)).status).toBe(letThrough);
  });
});
