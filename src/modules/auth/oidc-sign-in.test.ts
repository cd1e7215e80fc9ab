import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { clientId, clientSecret, OidcProvider, SmallBrowser } from '../../../test/support/auth/oidc-provider.js';
import { waitFor } from '../../../test/support/wait-for.js';

const signIn = '/api/auth/oidc/sign-in';
const callback = '/api/auth/oidc/callback';
let provider: OidcProvider;
let app: AuthApp;

beforeAll(async () => {
  provider = await OidcProvider.start();
  app = await startWith({ adminGroups: ['ops'] });
  provider.serve(`${app.url}${callback}`);
  provider.people.set('ann', { name: 'Ann', email: 'ann@example.com', groups: ['web', 'ops'] });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const startWith = (auth: object, oidc: object = {}): Promise<AuthApp> =>
  startAuthApp({
    auth: {
      enabled: true,
      ...auth,
      oidc: {
        issuer: provider.url,
        clientId,
        clientSecret,
        signInScopes: ['openid', 'profile', 'email', 'groups'],
        ...oidc,
      },
    },
  });

/** To the provider, logged in there, and where it sends the browser. */
async function visit(browser: SmallBrowser, login: string, of = app): Promise<string> {
  return (await browser.goOn(`${of.url}${signIn}`, `${of.url}${callback}`, login)).address;
}
async function comeBack(browser: SmallBrowser, address: string): Promise<{ location: string; cookies: string[] }> {
  const answer = await browser.get(address);
  expect(answer.status).toBe(302);
  return { location: answer.headers.get('location')!, cookies: answer.headers.getSetCookie() };
}
const who = (browser: SmallBrowser, of = app) =>
  of.call('GET', '/api/auth/user', { headers: { Cookie: browser.cookies(of.url) } });

describe('a browser that is sent to the provider', () => {
  test('comes back signed in, as the user and with the groups that the provider tells', async () => {
    const browser = new SmallBrowser();
    const { location, cookies } = await comeBack(browser, await visit(browser, 'ann'));
    expect(location).toBe('/ui/signed-in');
    expect(cookies).toEqual([
      expect.stringMatching(/^muster-sign-in=; Path=\/api\/auth\/oidc; Expires=Thu, 01 Jan 1970/),
      expect.stringMatching(/^muster=muster_session_[\w-]{43}; Max-Age=\d+; Path=\/; .*HttpOnly; SameSite=Strict$/),
    ]);
    expect((await who(browser)).body).toMatchObject({
      user: { id: 'ann', name: 'Ann', email: 'ann@example.com', groups: ['web', 'ops'] },
      administrator: true,
      sessionEndsAt: expect.any(Number),
    });
    expect(await app.sql("SELECT issuer, token_digest FROM auth_session WHERE user_id = 'ann'")).toEqual([
      { issuer: provider.url, token_digest: null },
    ]);
  });

  test('is asked for a code with PKCE, and keeps what binds it in a cookie for the way back alone', async () => {
    const answer = await new SmallBrowser().get(`${app.url}${signIn}`);
    const asked = new URL(answer.headers.get('location')!);
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: `${app.url}${callback}`,
      scope: 'openid profile email groups',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^muster-sign-in=[\w-]+; Max-Age=600; Path=\/api\/auth\/oidc; .*HttpOnly; SameSite=Lax$/),
    ]);
  });

  test('has a row in the audit trail, without what the provider sent along', async () => {
    const browser = new SmallBrowser();
    await comeBack(browser, await visit(browser, 'audrey'));
    const [row] = await waitFor('the row', async () => {
      const rows = await app.sql("SELECT * FROM v_audit WHERE caller = 'audrey'");
      return rows.length > 0 && rows;
    });
    expect(row).toMatchObject({ proven_by: 'OIDC', operation: `GET ${callback}`, path: callback, outcome: 'ALLOWED' });
  });
});

describe('nobody is signed in', () => {
  const refused = async (browser: SmallBrowser, address: string, problem: string): Promise<void> => {
    const { location, cookies } = await comeBack(browser, address);
    expect(location).toBe(`/ui/signed-in?problem=${problem}`);
    expect(cookies.filter((cookie) => cookie.startsWith('muster='))).toEqual([]);
    expect((await who(browser)).status).toBe(401);
  };
  /** The way back, with one of the secrets changed. */
  const forge = (browser: SmallBrowser, change: object): void => {
    const [, value] = /muster-sign-in=([\w-]+)/.exec(browser.cookies(app.url))!;
    const secrets = JSON.parse(Buffer.from(value!, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...secrets, ...change })).toString('base64url');
    browser.set(app.url, 'muster-sign-in', forged);
  };

  test('by the answer that another browser was given', async () => {
    const address = await visit(new SmallBrowser(), 'ann');
    await refused(new SmallBrowser(), address, 'expired');
    const other = new SmallBrowser();
    await other.get(`${app.url}${signIn}`);
    await refused(other, address, 'refused');
  });

  test.each(['state', 'nonce', 'codeVerifier'])('with another %s than the provider was asked with', async (name) => {
    const browser = new SmallBrowser();
    const address = await visit(browser, 'ann');
    forge(browser, { [name]: 'x'.repeat(43) });
    await refused(browser, address, 'refused');
  });

  test('by an answer that is used again', async () => {
    const browser = new SmallBrowser();
    const address = await visit(browser, 'ann');
    const secrets = /muster-sign-in=([\w-]+)/.exec(browser.cookies(app.url))![1]!;
    await comeBack(browser, address);
    browser.set(app.url, 'muster', 'none');
    browser.set(app.url, 'muster-sign-in', secrets);
    await refused(browser, address, 'refused');
  });

  test('by an answer without a code, or a cookie that is none', async () => {
    const browser = new SmallBrowser();
    await browser.get(`${app.url}${signIn}`);
    await refused(browser, `${app.url}${callback}`, 'refused');
    for (const value of ['x', Buffer.from('[]').toString('base64url'), Buffer.from('null').toString('base64url')]) {
      browser.set(app.url, 'muster-sign-in', value);
      await refused(browser, `${app.url}${callback}?code=x&state=y`, 'expired');
    }
  });

  test('who says no there', async () => {
    const browser = new SmallBrowser();
    const asked = new URL((await browser.get(`${app.url}${signIn}`)).headers.get('location')!);
    const back = `${app.url}${callback}?error=access_denied&state=`;
    const secrets = /muster-sign-in=([\w-]+)/.exec(browser.cookies(app.url))![1]!;
    await refused(browser, `${back}${asked.searchParams.get('state')}`, 'denied');
    browser.set(app.url, 'muster-sign-in', secrets);
    await refused(browser, `${back}made-up`, 'refused');
  });

  test('while the provider is away; when it is back they are', async () => {
    const other = await startWith({});
    onTestFinished(() => other.close());
    provider.isAway = true;
    const browser = new SmallBrowser();
    const answer = await browser.get(`${other.url}${signIn}`);
    provider.isAway = false;
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/ui/signed-in?problem=provider']);
    expect((await browser.get(`${other.url}${signIn}`)).headers.get('location')).toContain(`${provider.url}/auth?`);
  });

  test('of whom the provider does not tell what the settings ask for, or more than can be kept', async () => {
    const strict = await startWith({}, { userClaim: 'employee', redirectUri: `${app.url}${callback}` });
    onTestFinished(() => strict.close());
    const browser = new SmallBrowser();
    const { address } = await browser.goOn(`${strict.url}${signIn}`, `${app.url}${callback}`, 'ann');
    await refused(browser, address.replace(app.url, strict.url), 'refused');

    provider.people.set('grouper', { groups: Array.from({ length: 10_000 }, (_each, index) => `group-${index}`) });
    const another = new SmallBrowser();
    await refused(another, await visit(another, 'grouper'), 'refused');
  });

  test('where the settings name no client: 404', async () => {
    const without = await startAuthApp({ auth: { enabled: true } });
    onTestFinished(() => without.close());
    for (const path of [signIn, callback])
      expect(await without.call('GET', path)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });
});
