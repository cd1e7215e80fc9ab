import { beforeAll, describe, expect, test } from 'vitest';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { ann, asAnn, asBob, asFirst, asNobody, bob, guarded, introduce } from './people.js';
import { Scene } from './scene.js';
import { waitFor } from '../support/wait-for.js';

const operations = operationsOf(['Auth', 'Users', 'Request groups'], { ...guarded, headers: asAnn });
beforeAll(async () => {
  await introduce(operations);
  await scene.request({ id: 'of-db', group: 'db', readOnlyGroups: ['web'] });
  await scene.request({ id: 'of-web', group: 'web' });
});
const scene = new Scene(operations);

describe('who calls', () => {
  const whoCalls = 'GET /api/auth/user';

  test('is told to callers, with what they chose; a caller without a name is 401', async () => {
    const user = { ...bob, scopes: [], authenticated: true };
    const known = { user, authenticated: true, authEnabled: true, administrator: false, createsRequests: true };
    expect(await operations.call(whoCalls, 200, { headers: asBob })).toEqual(known);
    expect((await scene.refuses(whoCalls, 401, { headers: asNobody })).code).toBe('UNAUTHENTICATED');
    await scene.refuses(whoCalls, 401, { headers: { Authorization: '' } });
  });
});

describe('tokens', () => {
  const make = 'POST /api/auth/token';
  const clear = 'DELETE /api/auth/token/{user}';
  const bearing = (token: string) => ({ headers: { Authorization: `Token ${token}` } });
  const carl = { id: 'carl', name: 'carl the third', email: 'carl@example.com', groups: ['web'], scopes: ['some'] };

  test('are made by administrators for others, shown once, and cleared by the name of the user', async () => {
    const made = await operations.call<{ token: string }>(make, 200, { body: { user: carl } });
    expect(made).toEqual({
      token: expect.stringMatching(/^muster_[0-9a-f]{16}_[\w-]{43}$/),
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      expiresAt: expect.any(Number),
      user: { ...carl, authenticated: true },
    });
    const { user } = await operations.call<{ user: object }>('GET /api/auth/user', 200, bearing(made.token));
    expect(user).toEqual({ ...carl, authenticated: true });
    expect(await operations.call(clear, 200, { params: { user: carl.name } })).toBeUndefined();
    await scene.refuses('GET /api/auth/user', 401, bearing(made.token));
    // Nothing is left to be cleared.
    await operations.call(clear, 200, { params: { user: carl.name } });
  });

  test('are made by callers for themselves without a body, in place of the one they had', async () => {
    const dora = { id: 'dora', groups: ['web'] };
    const { token: first } = await operations.call<{ token: string }>(make, 200, { body: { user: dora } });
    const made = await operations.call<{ token: string; user: object }>(make, 200, bearing(first));
    expect(made.user).toMatchObject({ id: 'dora', groups: ['web'] });
    await scene.refuses('GET /api/auth/user', 401, bearing(first));
    await operations.call('GET /api/auth/user', 200, bearing(made.token));
  });

  test('of others are the business of administrators: 403', async () => {
    const input = { headers: asBob, body: { user: { id: 'ann', groups: ['ops'] } } };
    expect((await scene.refuses(make, 403, input)).code).toBe('FORBIDDEN');
    await scene.refuses(clear, 403, { headers: asBob, params: { user: 'ann' } });
    await scene.refuses(make, 401, { headers: asNobody });
    await operations.call('GET /api/auth/user', 200, { headers: asAnn });
  });

  test.each([
    [{ user: {} }, 'user.id'],
    [{ user: { id: '' } }, 'user.id'],
    [{ user: { id: 'x', groups: 'web' } }, 'user.groups'],
    [{ token: 7 }, 'token'],
    [{ token: 'a-long-text-that-its-user-would-like' }, 'token'],
    [{ expiresAt: 7 }, 'expiresAt'],
    [{ name: 'x'.repeat(101) }, 'name'],
  ])('are not made of %j: %s', async (body, field) => {
    const refusal = await scene.refuses(make, 400, { body });
    expect(refusal.errors.map((error) => error.field)).toContain(field);
    expect(refusal.message).toContain(field);
  });

  test('cannot be those of another user', async () => {
    const token = asBob.Authorization.replace('Token ', '');
    await scene.refuses(make, 400, { body: { token, user: { id: 'eve' } } });
    expect(await operations.call('GET /api/auth/user', 200, { headers: asBob })).toMatchObject({ user: bob });
  });

  test('are listed without their text, and revoked one by one', async () => {
    const list = 'GET /api/auth/tokens';
    const revoke = 'DELETE /api/auth/tokens/{tokenId}';
    const made = await operations.call<{ id: string; token: string }>(make, 200, {
      headers: asBob,
      body: { name: 'ci' },
    });
    const known = await operations.call<{ id: string }[]>(list, 200, { headers: asBob });
    expect(known).toContainEqual(expect.objectContaining({ id: made.id, name: 'ci', userId: 'bob', madeBy: 'bob' }));
    expect(await operations.call(list, 200, { query: { user: 'bob' } })).toHaveLength(known.length);
    await scene.refuses(list, 403, { headers: asBob, query: { user: 'ann' } });
    const [ofAnn] = await operations.call<{ id: string }[]>(list, 200);
    await scene.refuses(revoke, 404, { headers: asBob, params: { tokenId: ofAnn!.id } });
    await operations.call(revoke, 200, { headers: asBob, params: { tokenId: made.id } });
    await scene.refuses('GET /api/auth/user', 401, bearing(made.token));
    await operations.call('GET /api/auth/user', 200, { headers: asBob });
  });

  test('are not made without end', async () => {
    const flood = { headers: asFirst, body: { user: { id: 'many' } } };
    for (let left = 8; left > 0; left--) await operations.call(make, 200, flood);
    expect((await scene.refuses(make, 429, flood)).code).toBe('TOO_MANY_TOKENS');
  });
});

describe('sessions of browsers', () => {
  const signIn = 'POST /api/auth/session';
  const signOut = 'DELETE /api/auth/session';
  const ofPage = () => ({ Origin: operations.api.url, Authorization: '' });

  test('begin with a token and end when their user signs out', async () => {
    const token = asBob.Authorization.replace('Token ', '');
    const body = { token };
    const begun = await operations.call<{ sessionEndsAt: number }>(signIn, 200, { headers: ofPage(), body });
    expect(begun).toMatchObject({ user: bob, administrator: false, sessionEndsAt: expect.any(Number) });
    const headers = { Origin: operations.api.url, 'content-type': 'application/json' };
    const answer = await fetch(`${operations.api.url}/api/auth/session`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const bySession = { ...ofPage(), Cookie: answer.headers.getSetCookie()[0]!.split(';')[0]! };
    expect(await operations.call('GET /api/auth/user', 200, { headers: bySession })).toMatchObject({ user: bob });
    await operations.call(signOut, 200, { headers: bySession });
    await scene.refuses('GET /api/auth/user', 401, { headers: bySession });
  });

  test('are for pages of this service: 403, and for tokens that count: 401', async () => {
    const body = { token: asBob.Authorization.replace('Token ', '') };
    expect((await scene.refuses(signIn, 403, { body })).code).toBe('FOREIGN_ORIGIN');
    expect((await scene.refuses(signOut, 403)).code).toBe('FOREIGN_ORIGIN');
    await scene.refuses(signIn, 401, { headers: ofPage(), body: { token: 'that-nobody-was-given' } });
  });
});

test('the audit trail is told to administrators', async () => {
  const audit = 'GET /api/audit';
  await waitFor('what was asked before', async () => {
    const entries = await operations.call<{ callId: string }[]>(audit, 200, { query: { caller: 'bob', limit: 5 } });
    return entries.length > 0;
  });
  await scene.refuses(audit, 403, { headers: asBob });
  await scene.refuses(audit, 400, { query: { outcome: 'MAYBE' } });
});

describe('auth-check', () => {
  const check = 'GET /api/auth/{requestId}/auth-check';
  const checkUser = 'GET /api/auth/{requestId}/auth-check/{userId}';

  test.each([
    ['of-web', undefined, 200],
    ['of-web', 'READ', 200],
    ['of-web', 'write', 200],
    ['of-web', 'DEPLOY', 200],
    ['of-web', 'ADMIN', 403],
    ['of-db', undefined, 200],
    ['of-db', 'WRITE', 403],
    ['of-db', 'DEPLOY', 403],
  ])('for a member of web on %s with scope %s is %i', async (requestId, scope, status) => {
    const query: Record<string, string> = scope === undefined ? {} : { scope };
    const answer = await operations.call(check, status, { headers: asBob, params: { requestId }, query });
    if (status === 200) expect(answer).toBeUndefined();
    else expect(answer).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('bob') });
  });

  test('for an administrator is always 200, for an unnamed caller 401, with a scope that is none 400', async () => {
    const params = { requestId: 'of-db' };
    for (const scope of ['READ', 'WRITE', 'DEPLOY', 'ADMIN'])
      await operations.call(check, 200, { params, query: { scope } });
    await scene.refuses(check, 401, { params, headers: asNobody });
    expect((await scene.refuses(check, 400, { params, query: { scope: 'ALL' } })).message).toContain('scope');
    await scene.refuses(checkUser, 400, { params: { ...params, userId: 'bob' }, query: { scope: 'ALL' } });
  });

  test('of another user asks the directory; the one that believes every name knows no groups', async () => {
    await scene.request({ id: 'of-all' });
    const of = (requestId: string, userId: string) => ({ params: { requestId, userId } });
    for (const scope of ['READ', 'WRITE', 'DEPLOY']) {
      await operations.call(checkUser, 200, { ...of('of-all', 'bob'), query: { scope } });
    }
    const refused = await scene.refuses(checkUser, 403, of('of-db', 'bob'));
    expect([refused.code, refused.message]).toEqual(['FORBIDDEN', expect.stringContaining('bob')]);
    await scene.refuses(checkUser, 401, { ...of('of-all', 'bob'), headers: asNobody });
  });
});

describe('settings of users', () => {
  const settings = 'GET /api/users/settings';
  const replace = 'POST /api/users/settings';
  const star = 'POST /api/users/settings/starred-requests';
  const unstar = 'DELETE /api/users/settings/starred-requests';
  const ids = (...starredRequestIds: string[]) => ({ body: { starredRequestIds } });

  test('are empty at first, replaced as a whole, added to and taken from; each caller has their own', async () => {
    expect(await operations.call(settings, 200)).toEqual({ starredRequestIds: [] });
    expect(await operations.call(replace, 204, ids('of-web', 'of-db', 'of-web'))).toBeUndefined();
    expect(await operations.call(settings, 200)).toEqual({ starredRequestIds: ['of-web', 'of-db'] });
    expect(await operations.call(star, 204, ids('of-db', 'not-there'))).toBeUndefined();
    expect(await operations.call(settings, 200)).toEqual({ starredRequestIds: ['of-web', 'of-db', 'not-there'] });
    expect(await operations.call(unstar, 204, ids('of-db', 'never-there'))).toBeUndefined();
    const kept = { starredRequestIds: ['of-web', 'not-there'] };
    expect(await operations.call(settings, 200)).toEqual(kept);
    expect(await operations.call('GET /api/auth/user', 200)).toMatchObject({ user: ann, settings: kept });
    expect(await operations.call(settings, 200, { headers: asBob })).toEqual({ starredRequestIds: [] });
    await operations.call(replace, 204, ids('of-db'));
    expect(await operations.call(settings, 200)).toEqual({ starredRequestIds: ['of-db'] });
  });

  test.each([replace, star, unstar] as const)('%s needs a body with a list of texts, and a user', async (operation) => {
    const before = await operations.call(settings, 200);
    for (const starredRequestIds of ['of-web', [7]]) {
      const { errors } = await scene.refuses(operation, 400, { body: { starredRequestIds } });
      expect(errors).toMatchObject([{ field: 'starredRequestIds' }]);
    }
    await scene.refuses(operation, 400);
    await scene.refuses(operation, 401, { ...ids('of-web'), headers: asNobody });
    expect(await operations.call(settings, 200)).toEqual(before);
  });

  test('keep what programs keep for a user; what is no object is 400', async () => {
    const prefer = 'PUT /api/users/settings/preferences';
    const headers = asBob;
    const preferences = { views: [{ name: 'mine', to: '/requests?mine=true' }] };
    expect(await operations.call(prefer, 204, { body: { preferences }, headers })).toBeUndefined();
    expect(await operations.call(settings, 200, { headers })).toMatchObject({ preferences });
    await scene.refuses(prefer, 400, { body: { preferences: 'mine' }, headers });
    await operations.call(prefer, 204, { body: { preferences: null }, headers });
  });

  test('hold 5000 requests at most, whichever way they come', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `r${index}`);
    const headers = asBob;
    await operations.call(replace, 204, { ...ids(...many), headers });
    await operations.call(star, 204, { ...ids('r0'), headers });
    expect((await scene.refuses(star, 400, { ...ids('more'), headers })).message).toContain('5000');
    expect((await scene.refuses(replace, 400, { ...ids(...many, 'more'), headers })).message).toContain('5000');
    await operations.call(replace, 204, { ...ids(), headers });
    expect(await operations.call(settings, 200, { headers })).toEqual({ starredRequestIds: [] });
  });
});

describe('groups of requests', () => {
  const list = 'GET /api/groups';
  const save = 'POST /api/groups';
  const one = 'GET /api/groups/group/{requestGroupId}';
  const remove = 'DELETE /api/groups/group/{requestGroupId}';
  const shop = { id: 'shop', requestIds: ['of-web', 'of-db'], metadata: { owner: 'ann' } };
  const params = { requestGroupId: 'shop' };

  test('are saved, replaced as a whole, listed by id and deleted; a second deletion changes nothing', async () => {
    expect(await operations.call(save, 200, { body: shop })).toEqual(shop);
    expect(await operations.call(one, 200, { params })).toEqual(shop);
    const brief = { id: 'shop', requestIds: ['of-web'] };
    expect(await operations.call(save, 200, { body: brief })).toEqual({ ...brief, metadata: {} });
    const bare = { id: 'Bare', requestIds: [] };
    await operations.call(save, 200, { body: bare });
    const both = [
      { ...bare, metadata: {} },
      { ...brief, metadata: {} },
    ];
    expect(await operations.call(list, 200, { query: { useWebCache: true } })).toEqual(both);
    expect(await operations.call(remove, 200, { params })).toBeUndefined();
    await operations.call(remove, 200, { params });
    expect((await scene.refuses(one, 404, { params })).message).toBe(`No request group with id 'shop'`);
    expect(await operations.call(list, 200)).toEqual([both[0]]);
    // Its requests stay.
    expect((await scene.one('of-web')).state).toBe('ACTIVE');
  });

  test.each([
    [{ requestIds: [] }, 'id'],
    [{ id: '', requestIds: [] }, 'id'],
    [{ id: 'a b', requestIds: [] }, 'id'],
    [{ id: 'x'.repeat(100), requestIds: [] }, 'id'],
    [{ id: 'x' }, 'requestIds'],
    [{ id: 'x', requestIds: 'of-web' }, 'requestIds'],
    [{ id: 'x', requestIds: [], metadata: { size: {} } }, 'metadata'],
    [undefined, 'id'],
  ])('are not made of %j: %s', async (body, field) => {
    const refusal = await scene.refuses(save, 400, { body });
    expect(refusal.errors.map((error) => error.field)).toContain(field);
    expect(refusal.message).toContain(field);
  });

  test('are changed by who may write all of their requests, and deleted by administrators', async () => {
    const headers = asBob;
    await scene.refuses(save, 403, { headers, body: { id: 'mixed', requestIds: ['of-web', 'of-db'] } });
    const body = { id: 'webs', requestIds: ['of-web'] };
    await operations.call(save, 200, { headers, body });
    await scene.refuses(remove, 403, { headers, params: { requestGroupId: 'webs' } });
    await operations.call(remove, 200, { params: { requestGroupId: 'webs' } });
  });
});

everyOperationWasCalled(operations);
