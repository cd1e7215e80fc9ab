import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { SettingsFile } from '../../platform/settings/settings.js';
import { Clock } from '../../platform/clock.js';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { localhostCertificate } from '../../../test/support/auth/localhost-certificate.js';
import { SmallLdapServer, type DirectoryEntry } from '../../../test/support/auth/small-ldap-server.js';

class HandClock extends Clock {
  millis = 1_700_000_000_000;
  override now(): number {
    return this.millis;
  }
}
const clock = new HandClock();
const entries: DirectoryEntry[] = [
  { dn: 'uid=ann,ou=people,dc=x', attributes: { uid: ['ann'], cn: ['Ann'], mail: ['ann@example.com'] } },
  { dn: 'uid=odd(1)*,ou=people,dc=x', attributes: { uid: ['odd(1)*'], cn: ['Odd'] } },
  { dn: 'uid=deep,ou=far,ou=people,dc=x', attributes: { uid: ['deep'], cn: ['Deep'] } },
  { dn: 'cn=web,ou=groups,dc=x', attributes: { cn: ['web'], memberUid: ['ann'] } },
  { dn: 'cn=admins,ou=all,ou=groups,dc=x', attributes: { cn: ['admins'], memberUid: ['ann', 'bob'] } },
];
const auth = {
  enabled: true,
  authenticators: ['HEADER_PASSTHROUGH', 'QUERYPARAM_PASSTHROUGH'],
  trustedProxies: ['127.0.0.0/8', '::1'],
};
const byHeader = (of: AuthApp, name: string): Promise<Answer> =>
  of.call('GET', '/api/auth/user', { headers: { 'X-Username': name } });

describe('the directory LDAP', () => {
  let server: SmallLdapServer;
  let app: AuthApp;
  beforeAll(async () => {
    server = await SmallLdapServer.start(entries, 'open sesame');
    const ldap = {
      hostname: '127.0.0.1',
      port: server.port,
      bindDn: 'cn=reader,dc=x',
      bindPassword: 'open sesame',
      userBaseDN: 'ou=people,dc=x',
      groupBaseDN: 'ou=groups,dc=x',
    };
    app = await startAuthApp({ auth: { ...auth, datastore: 'LDAP', adminGroups: ['admins'] }, ldap }, { clock });
  });
  afterAll(async () => {
    await app.close();
    await server.close();
  });
  beforeEach(() => {
    clock.millis += 60_000;
    server.searches.length = 0;
  });
  afterEach(() => {
    server.broken = false;
  });

  test('knows names, addresses and groups', async () => {
    expect((await byHeader(app, 'ann')).body['user']).toEqual({
      id: 'ann',
      name: 'Ann',
      email: 'ann@example.com',
      groups: ['web', 'admins'],
      scopes: [],
      authenticated: true,
    });
    expect(server.binds[0]).toEqual({ dn: 'cn=reader,dc=x', password: 'open sesame' });
  });

  test('is asked for users right below their entry, and for groups anywhere below theirs', async () => {
    await byHeader(app, 'ann');
    expect(server.searches).toEqual([
      { base: 'ou=people,dc=x', scope: 1, attribute: 'uid', value: 'ann' },
      { base: 'ou=groups,dc=x', scope: 2, attribute: 'memberUid', value: 'ann' },
    ]);
    expect((await byHeader(app, 'deep')).status).toBe(401);
  });

  test('is asked without the domain of an address', async () => {
    expect((await byHeader(app, 'ann@example.com')).body).toMatchObject({ user: { id: 'ann', name: 'Ann' } });
  });

  test('takes what means something in a filter for itself', async () => {
    expect((await byHeader(app, 'odd(1)*')).body).toMatchObject({ user: { id: 'odd(1)*' } });
    expect((await byHeader(app, '*')).status).toBe(401);
    expect((await byHeader(app, 'ann)(uid=*')).status).toBe(401);
  });

  test('its answers are kept for a while, that it knows no such user too', async () => {
    await byHeader(app, 'ann');
    await byHeader(app, 'nobody');
    const before = server.searches.length;
    clock.millis += 59_999;
    expect((await byHeader(app, 'ann')).status).toBe(200);
    expect((await byHeader(app, 'nobody')).status).toBe(401);
    expect(server.searches.length).toBe(before);
    clock.millis += 1;
    await byHeader(app, 'ann');
    expect(server.searches.length).toBe(before + 2);
  });

  test('a connection that was lost is made anew', async () => {
    await byHeader(app, 'ann');
    server.hangUp();
    clock.millis += 60_000;
    expect((await byHeader(app, 'ann')).status).toBe(200);
  });

  test('when it fails, callers are told 500, and the state tells that it is not well', async () => {
    const healthy = async () =>
      (await app.call('GET', '/api/state?skipCache=true', { headers: { 'X-Username': 'ann' } })).body[
        'authDatastoreHealthy'
      ];
    expect(await healthy()).toBe(true);
    server.broken = true;
    expect(await healthy()).toBe(false);
    clock.millis += 60_000;
    expect(await byHeader(app, 'ann')).toMatchObject({ status: 500, body: { code: 'DIRECTORY_FAILED' } });
    server.broken = false;
    expect((await byHeader(app, 'ann')).status).toBe(200);
  });
});

describe('the directory LDAP over TLS', () => {
  let server: SmallLdapServer;
  const folder = tempFolder();
  const caFile = join(folder.path, 'ca.pem');
  beforeAll(async () => {
    writeFileSync(caFile, localhostCertificate.cert);
    server = await SmallLdapServer.start(entries, 'open sesame', localhostCertificate);
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });
  beforeEach(() => {
    server.binds.length = 0;
  });

  const startWith = async (ldap: Record<string, unknown>): Promise<AuthApp> => {
    const base = { bindDn: 'cn=reader,dc=x', bindPassword: 'open sesame', userBaseDN: 'ou=people,dc=x' };
    const place = { hostname: 'localhost', port: server.port, tls: true };
    const app = await startAuthApp({ auth: { ...auth, datastore: 'LDAP' }, ldap: { ...place, ...base, ...ldap } });
    onTestFinished(() => app.close());
    return app;
  };

  test('knows names when ldap.caFile vouches for its certificate', async () => {
    const app = await startWith({ caFile });
    expect((await byHeader(app, 'ann')).body).toMatchObject({ user: { id: 'ann', name: 'Ann' } });
    server.hangUp();
    expect((await byHeader(app, 'odd(1)*')).body).toMatchObject({ user: { name: 'Odd' } });
  });

  test.each([
    ['one that no directory vouches for', {}],
    ['one of another host', { caFile: 'known', hostname: '127.0.0.1' }],
    ['none at all, for a server that speaks TLS', { tls: false }],
  ])('is told no password when its certificate is %s: callers are told 500', async (_name, ldap) => {
    const known = 'caFile' in ldap ? { caFile } : {};
    const app = await startWith({ ...ldap, ...known, timeoutMillis: 500 });
    expect(await byHeader(app, 'ann')).toMatchObject({ status: 500, body: { code: 'DIRECTORY_FAILED' } });
    expect(server.binds).toEqual([]);
  });

  test('does not start with a caFile that cannot be read, and says so', async () => {
    await expect(startWith({ caFile: '/nowhere/ca.pem' })).rejects.toThrow('ldap.caFile cannot be read');
  });
});

describe('the directory LDAP with StartTLS', () => {
  let server: SmallLdapServer;
  const folder = tempFolder();
  const caFile = join(folder.path, 'ca.pem');
  beforeAll(async () => {
    writeFileSync(caFile, localhostCertificate.cert);
    server = await SmallLdapServer.start(entries, 'open sesame');
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });
  beforeEach(() => {
    server.upgradesWith = localhostCertificate;
    server.binds.length = 0;
    server.searches.length = 0;
  });

  const start = async (more: Record<string, unknown> = {}): Promise<AuthApp> => {
    const login = { bindDn: 'cn=reader,dc=x', bindPassword: 'open sesame', userBaseDN: 'ou=people,dc=x' };
    const ldap = {
      hostname: 'localhost',
      port: server.port,
      startTls: true,
      caFile,
      timeoutMillis: 500,
      ...login,
      ...more,
    };
    const app = await startAuthApp({ auth: { ...auth, datastore: 'LDAP' }, ldap });
    onTestFinished(() => app.close());
    return app;
  };

  test('logs in after the change to TLS, also when the connection was lost', async () => {
    const app = await start();
    expect((await byHeader(app, 'ann')).body).toMatchObject({ user: { id: 'ann', name: 'Ann' } });
    server.hangUp();
    expect((await byHeader(app, 'odd(1)*')).body).toMatchObject({ user: { name: 'Odd' } });
    expect(server.binds).toHaveLength(2);
  });

  test.each([
    ['does not know it', undefined, {}],
    ['has the certificate of another host', localhostCertificate, { hostname: '127.0.0.1' }],
  ])('a directory that %s is told nothing', async (_name, certificate, more) => {
    server.upgradesWith = certificate;
    const app = await start(more);
    expect(await byHeader(app, 'ann')).toMatchObject({ status: 500, body: { code: 'DIRECTORY_FAILED' } });
    expect([server.binds, server.searches]).toEqual([[], []]);
  });
});

describe('a directory on another host', () => {
  const problems = (ldap: Record<string, unknown>): string[] => {
    const file = { auth: { datastore: 'LDAP' }, ldap: { hostname: 'ldap.example.com', ...ldap } };
    return SettingsFile.safeParse(file).error?.issues.map(({ path }) => path.join('.')) ?? [];
  };

  test('needs TLS, unless the settings say that it need not be', () => {
    expect(problems({})).toEqual(['ldap.tls']);
    for (const ldap of [{ tls: true }, { startTls: true }, { allowPlain: true }, { hostname: '127.0.0.1' }]) {
      expect(problems(ldap)).toEqual([]);
    }
    expect(problems({ tls: true, startTls: true })).toEqual(['ldap.startTls']);
  });
});

describe('the directory DUMMY', () => {
  let app: AuthApp;
  beforeAll(async () => {
    app = await startAuthApp({ auth });
  });
  afterAll(() => app.close());

  test('believes every name', async () => {
    const ann = { id: 'ann', name: 'ann', email: 'ann', groups: [], scopes: [], authenticated: true };
    expect((await byHeader(app, 'ann')).body['user']).toEqual(ann);
    expect((await app.call('GET', '/api/auth/user?user=ann')).body['user']).toEqual(ann);
  });

  test('the ways are tried in their order, and a missing name fails its way', async () => {
    const both = await app.call('GET', '/api/auth/user?user=bob', { headers: { 'X-Username': 'ann' } });
    expect(both.body).toMatchObject({ user: { id: 'ann' } });
    expect((await app.call('GET', '/api/auth/user')).body.message).toBe(
      "The caller is not authenticated: HEADER_PASSTHROUGH: header X-Username is missing; QUERYPARAM_PASSTHROUGH: query parameter 'user' is missing",
    );
  });
});

test('the directory DISABLED knows no user', async () => {
  const app = await startAuthApp({ auth: { ...auth, datastore: 'DISABLED' } });
  expect((await byHeader(app, 'ann')).body.message).toContain("the directory knows no user 'ann'");
  await app.close();
});

test('a name is believed only from a trusted proxy, whatever headers say', async () => {
  const app = await startAuthApp({ auth: { ...auth, trustedProxies: ['10.0.0.0/8'] } });
  const headers = { 'X-Username': 'ann', 'X-Forwarded-For': '10.0.0.1', Forwarded: 'for=10.0.0.1' };
  const refused = await app.call('GET', '/api/auth/user', { headers });
  expect(refused.status).toBe(401);
  expect(refused.body.message).toContain('127.0.0.1 is none of auth.trustedProxies');
  await app.close();
});

test('the way DISABLED knows no user', async () => {
  const app = await startAuthApp({ auth: { enabled: true, authenticators: ['DISABLED'] } });
  expect((await app.call('GET', '/api/auth/user?user=ann')).status).toBe(401);
  await app.close();
});
