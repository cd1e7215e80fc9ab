import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';

let app: AuthApp;
beforeAll(async () => {
  app = await startAuthApp({ maxUserIdSize: 10 });
  for (const [id, group] of [
    ['a', 'web'],
    ['b', 'db'],
    ['c', undefined],
  ] as const) {
    await app.call('POST', '/api/requests', { body: { id, requestType: 'ON_DEMAND', group } });
  }
});
afterAll(() => app.close());
beforeEach(() => app.sql('TRUNCATE user_settings'));

const settings = '/api/users/settings';
const starred = `${settings}/starred-requests`;
const as = (user: string, path: string): string => `${path}${path.includes('?') ? '&' : '?'}user=${user}`;
const read = async (user = 'ann') => (await app.call('GET', as(user, settings))).body;
const change = (method: string, path: string, starredRequestIds: unknown, user = 'ann') =>
  app.call(method, as(user, path), { body: { starredRequestIds } });
const idsOf = async (path: string) =>
  ((await app.call('GET', path)).body as unknown as { request: { id: string } }[]).map(({ request }) => request.id);

test('requests are starred, unstarred and replaced, each once, known or not', async () => {
  expect(await read()).toEqual({ starredRequestIds: [] });
  expect(await change('POST', starred, ['a', 'nope', 'a'])).toMatchObject({ status: 204, body: '' });
  expect(await change('POST', starred, ['b'])).toMatchObject({ status: 204 });
  expect(await read()).toEqual({ starredRequestIds: ['a', 'nope', 'b'] });
  expect(await change('DELETE', starred, ['a', 'z'])).toMatchObject({ status: 204, body: '' });
  expect(await read()).toEqual({ starredRequestIds: ['nope', 'b'] });
  expect(await change('POST', settings, ['c', 'c'])).toMatchObject({ status: 204, body: '' });
  expect(await read()).toEqual({ starredRequestIds: ['c'] });
});

test('each user has their own; all who do not say who they are share one', async () => {
  await change('POST', settings, ['a']);
  await app.call('POST', settings, { body: { starredRequestIds: ['b'] } });
  expect(await read('ann')).toEqual({ starredRequestIds: ['a'] });
  expect(await read('bob')).toEqual({ starredRequestIds: [] });
  expect((await app.call('GET', settings)).body).toEqual({ starredRequestIds: ['b'] });
});

test('the record of the caller shows them once there are any', async () => {
  const holder = async () => (await app.call('GET', as('ann', '/api/auth/user'))).body;
  expect(await holder()).not.toHaveProperty('settings');
  await change('POST', settings, ['a']);
  expect(await holder()).toMatchObject({ settings: { starredRequestIds: ['a'] } });
});

describe('preferences', () => {
  const prefer = (preferences: unknown, user = 'ann') =>
    app.call('PUT', as(user, `${settings}/preferences`), { body: { preferences } });
  const views = { views: [{ name: 'mine', to: '/requests?mine=true' }], env: 'a' };

  test('are kept as they were sent, beside stars, replaced as a whole, and taken away by null', async () => {
    await change('POST', settings, ['a']);
    expect(await prefer(views)).toMatchObject({ status: 204, body: '' });
    expect(await read()).toEqual({ starredRequestIds: ['a'], preferences: views });
    await change('POST', starred, ['b']);
    await change('POST', settings, ['c']);
    expect(await read()).toEqual({ starredRequestIds: ['c'], preferences: views });
    expect(await read('bob')).toEqual({ starredRequestIds: [] });
    await prefer({ views: [] });
    expect(await read()).toEqual({ starredRequestIds: ['c'], preferences: { views: [] } });
    expect(await prefer(null)).toMatchObject({ status: 204 });
    expect(await read()).toEqual({ starredRequestIds: ['c'] });
  });

  test('hold 16384 bytes of JSON and no more, counted as UTF-8', async () => {
    const around = JSON.stringify({ a: '' }).length;
    expect(await prefer({ a: 'x'.repeat(16_384 - around) })).toMatchObject({ status: 204 });
    for (const a of ['x'.repeat(16_385 - around), 'é'.repeat(8_192)]) {
      const { status, body } = await prefer({ a });
      expect([status, body]).toMatchObject([400, { errors: [{ field: 'preferences', rule: 'size' }] }]);
    }
  });

  test.each([
    ['a text', 'x'],
    ['a list', []],
    ['a number', 7],
  ])('that are %s are 400', async (_what, preferences) => {
    expect(await prefer(preferences)).toMatchObject({ status: 400, body: { errors: [{ field: 'preferences' }] } });
  });

  test('have to be named, and are changed by their own operation alone', async () => {
    const put = (body: object) => app.call('PUT', as('ann', `${settings}/preferences`), { body });
    const errors = [
      { field: 'preferences', rule: 'required' },
      { field: 'preference', rule: 'unknown' },
    ];
    expect(await put({ preference: {} })).toMatchObject({ status: 400, body: { errors } });
    for (const path of [settings, starred]) {
      const answer = await app.call('POST', as('ann', path), { body: { starredRequestIds: [], preferences: {} } });
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'preferences', rule: 'readOnly' }] } });
    }
  });
});

test('more than 5000 are 400, counted after merging, also when they replace others', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `r${index}`);
  expect((await change('POST', settings, many)).status).toBe(204);
  expect((await change('POST', starred, ['r0'])).status).toBe(204);
  expect((await change('POST', starred, ['one-more'])).status).toBe(400);
  expect((await change('POST', settings, [...many, 'one-more'])).status).toBe(400);
});

test('a user id beyond maxUserIdSize is 400', async () => {
  for (const call of [app.call('GET', as('12345678901', settings)), change('POST', starred, ['a'], '12345678901')]) {
    expect(await call).toMatchObject({ status: 400 });
  }
});

test('two changes at once are both kept', async () => {
  const ids = Array.from({ length: 8 }, (_, index) => `r${index}`);
  await Promise.all(ids.map((id) => change('POST', starred, [id])));
  expect(((await read())['starredRequestIds'] as string[]).toSorted()).toEqual(ids);
});

test('starred requests come first in lists, and a limit keeps them', async () => {
  await change('POST', settings, ['b', 'nope']);
  expect((await idsOf(as('ann', '/api/requests')))[0]).toBe('b');
  expect(await idsOf(as('ann', '/api/requests?limit=1'))).toEqual(['b']);
});

test('filterRelevantForUser keeps what the caller starred or acted on, and everything for an unnamed user', async () => {
  const relevant = '/api/requests?filterRelevantForUser=true';
  expect(await idsOf(as('ann', relevant))).toEqual([]);
  await change('POST', settings, ['b']);
  expect(await idsOf(as('ann', relevant))).toEqual(['b']);
  expect(await app.call('POST', as('ann', '/api/requests/request/c/pause'))).toMatchObject({ status: 200 });
  expect(await idsOf(as('ann', relevant))).toEqual(['b']);
  expect(await idsOf(as('ann', `${relevant}&includeFullRequestData=true`))).toEqual(['b', 'c']);
  for (const [limit, page] of [
    [1, ['b']],
    [2, ['b', 'c']],
  ] as const) {
    const paged = `${relevant}&includeFullRequestData=true&cursor=*&limit=${limit}`;
    const { headers } = await app.call('GET', as('ann', paged));
    expect(await idsOf(as('ann', paged))).toEqual(page);
    expect(headers.has('x-next-cursor')).toBe(limit === 1);
  }
  const deploy = { id: 'd1', requestId: 'a', command: 'true' };
  expect(await app.call('POST', as('bob', '/api/deploys'), { body: { deploy } })).toMatchObject({ status: 200 });
  expect(await idsOf(as('bob', relevant))).toEqual(['a']);
  expect((await idsOf(relevant)).sort()).toEqual(['a', 'b', 'c']);
});

test('filterRelevantForUser keeps requests of the groups of the caller', async () => {
  const own = await startAuthApp({ auth: { authenticators: ['TOKEN'] } });
  for (const [id, group] of [
    ['a', 'web'],
    ['b', 'db'],
  ]) {
    await own.call('POST', '/api/requests', {
      body: { id, requestType: 'ON_DEMAND', group, readWriteGroups: ['web'] },
    });
  }
  const token = await own.tokenOf({ id: 'ann', groups: ['web'] });
  const { body } = await own.call('GET', '/api/requests?filterRelevantForUser=true', { token });
  expect(body).toMatchObject([{ request: { id: 'a' } }]);
  expect(body).toHaveLength(1);
  await own.close();
});
