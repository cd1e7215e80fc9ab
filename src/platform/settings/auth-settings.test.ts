import { describe, expect, test } from 'vitest';
import { authenticatorsOf } from './auth-settings.js';
import { SettingsFile } from './settings.js';

const problemsOf = (file: unknown): string[] => {
  const read = SettingsFile.safeParse(file);
  return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};
const ways = (auth: object) => authenticatorsOf(SettingsFile.parse({ auth }).auth);

describe('the ways to tell who calls', () => {
  test('are the query parameter while authentication is off, and TOKEN and COOKIE while it is on', () => {
    expect(ways({})).toEqual(['QUERYPARAM_PASSTHROUGH']);
    expect(ways({ enabled: true })).toEqual(['TOKEN', 'COOKIE']);
  });
  test('count once, in first position; the older single key comes last', () => {
    expect(ways({ authenticators: ['TOKEN', 'DISABLED', 'TOKEN'], authenticator: 'DISABLED' })).toEqual([
      'TOKEN',
      'DISABLED',
    ]);
    expect(ways({ enabled: true, authenticator: 'DISABLED' })).toEqual(['DISABLED']);
  });
});

/** Settings with which people sign in with a provider, but for these members. */
const signIn = (oidc: object, auth: object = {}) => ({
  auth: {
    enabled: true,
    ...auth,
    oidc: { issuer: 'https://login.example', clientId: 'muster', clientSecret: 'secret', ...oidc },
  },
});

test('what people sign in with a provider by is accepted', () => {
  expect(problemsOf(signIn({}))).toEqual([]);
  expect(problemsOf(signIn({ redirectUri: 'https://m.example/east/api/auth/oidc/callback' }))).toEqual([]);
});

describe('the service does not start', () => {
  test.each([['QUERYPARAM_PASSTHROUGH'], ['HEADER_PASSTHROUGH']])('with %s and no proxy trusted to use it', (way) => {
    const auth = { enabled: true, authenticators: ['TOKEN', way] };
    expect(problemsOf({ auth })).toEqual([
      `auth.trustedProxies: must name who may use ${way}: any caller could claim any name`,
    ]);
    expect(problemsOf({ auth: { ...auth, trustedProxies: [] } })).toHaveLength(1);
    expect(problemsOf({ auth: { ...auth, trustedProxies: ['10.0.0.0/8'] } })).toEqual([]);
    expect(problemsOf({ auth: { ...auth, enabled: false } })).toEqual([]);
  });

  test.each([
    [{ auth: { datastore: 'LDAP' } }, 'ldap.hostname: is needed for auth.datastore LDAP'],
    [
      { auth: { authenticators: ['WEBHOOK'] } },
      'webhookAuth.authVerificationUrl: is needed for the authenticator WEBHOOK',
    ],
    [
      { auth: { authenticators: ['COOKIE'] }, ui: { authCookieName: '' } },
      'ui.authCookieName: is needed for the authenticator COOKIE',
    ],
    [
      { ui: { authCookieName: 'a b' } },
      "ui.authCookieName: must be the name of a cookie: at most 100 letters, digits and !#$%&'*+-.^_`|~",
    ],
    [signIn({ issuer: undefined }), 'auth.oidc: needs issuer where it has clientId'],
    [signIn({ clientId: undefined }), 'auth.oidc: needs clientId where it has clientSecret'],
    [
      signIn({ clientId: undefined, clientSecret: undefined, redirectUri: 'https://m.example/api/auth/oidc/callback' }),
      'auth.oidc: needs clientId where it has redirectUri',
    ],
    [
      signIn({ redirectUri: 'https://m.example/callback' }),
      'auth.oidc.redirectUri: must end with /api/auth/oidc/callback',
    ],
    [
      signIn({ redirectUri: 'https://m.example/api/auth/oidc/callback?x=1' }),
      'auth.oidc.redirectUri: must end with /api/auth/oidc/callback',
    ],
    [signIn({ signInScopes: ['profile'] }), 'auth.oidc.signInScopes: must have openid among them'],
    [
      signIn({ signInScopes: ['openid', 'a b'] }),
      'auth.oidc.signInScopes.1: must be a word without blanks, quotes and backslashes',
    ],
    [signIn({}, { enabled: false }), 'auth.enabled: must be true where oidc.clientId has people sign in'],
    [
      signIn({}, { authenticators: ['TOKEN'] }),
      'auth.authenticators: must have COOKIE among them where oidc.clientId has people sign in',
    ],
    [
      { ...signIn({}), ui: { authCookieName: '' } },
      'ui.authCookieName: is needed for auth.oidc.clientId, with which people sign in',
    ],
    [{ auth: { authenticators: ['OIDC'] } }, 'auth.oidc: needs issuer and audience for the authenticator OIDC'],
    [
      { auth: { trustedProxies: ['localhost'] } },
      'auth.trustedProxies.0: must be an address or a network such as 10.0.0.0/8',
    ],
  ])('with %j', (file, problem) => expect(problemsOf(file)).toEqual([problem]));
});
