import { describe, expect, test } from 'vitest';
import { authenticatorsOf } from './auth-settings.js';
import { SettingsFile } from './settings.js';

const problemsOf = (file: unknown): string[] => {
  const read = SettingsFile.safeParse(file);
  return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};
const ways = (auth: object) => authenticatorsOf(SettingsFile.parse({ auth }).auth);

describe('the ways to tell who calls', () => {
  test('are the query parameter while authentication is off, and TOKEN while it is on', () => {
    expect(ways({})).toEqual(['QUERYPARAM_PASSTHROUGH']);
    expect(ways({ enabled: true })).toEqual(['TOKEN']);
  });
  test('count once, in first position; the older single key comes last', () => {
    expect(ways({ authenticators: ['TOKEN', 'DISABLED', 'TOKEN'], authenticator: 'DISABLED' })).toEqual([
      'TOKEN',
      'DISABLED',
    ]);
    expect(ways({ enabled: true, authenticator: 'DISABLED' })).toEqual(['DISABLED']);
  });
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
    [{ auth: { authenticators: ['COOKIE'] } }, 'ui.authCookieName: is needed for the authenticator COOKIE'],
    [{ auth: { authenticators: ['OIDC'] } }, 'auth.oidc: needs issuer and audience for the authenticator OIDC'],
    [
      { auth: { trustedProxies: ['localhost'] } },
      'auth.trustedProxies.0: must be an address or a network such as 10.0.0.0/8',
    ],
  ])('with %j', (file, problem) => expect(problemsOf(file)).toEqual([problem]));
});
