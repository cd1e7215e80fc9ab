import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startAuthApp, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { openEventStream, type EventClient } from '../../../test/support/event-client.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Database } from '../../platform/database/database.js';
import { LiveEventRepository } from './live-event.repository.js';

let app: AuthApp;
const clients: EventClient[] = [];
beforeAll(async () => {
  app = await startAuthApp({
    auth: { enabled: true, authMode: 'GROUPS', adminGroups: ['admins'], globalReadOnlyGroups: ['seers'] },
    events: { heartbeatMillis: 100 },
  });
});
afterAll(() => app.close());
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const bearer = (id: string, ...groups: string[]) => app.tokenOf({ id, groups });
async function listen(token: string, query = ''): Promise<EventClient> {
  const client = await openEventStream(`${app.url}/api/events${query}`, { Authorization: `Token ${token}` });
  clients.push(client);
  return client;
}
const save = async (token: string, id: string, group: string, more: object = {}) =>
  expect(
    (await app.call('POST', '/api/requests', { token, body: { id, requestType: 'ON_DEMAND', group, ...more } })).status,
  ).toBe(200);
const requestsOf = (client: EventClient): unknown[] => client.events.map(({ data }) => data['requestId']);
const caughtUp = (client: EventClient, other: EventClient) =>
  waitFor('the same place', () => Number(client.lastId) >= Number(other.lastId));
const heard = (client: EventClient, requestId: string) =>
  waitFor(`an event of ${requestId}`, () => requestsOf(client).includes(requestId));

test('without proof there is no stream', async () => {
  const { status, headers, body } = await app.call('GET', '/api/events');
  expect([status, headers.get('content-type'), body.code]).toEqual([401, 'application/json', 'UNAUTHENTICATED']);
});

test('a caller hears of what they may read: requests of their groups, machines, and no disasters', async () => {
  const root = await bearer('root', 'admins');
  const [ann, bob, eve, all] = [
    await listen(await bearer('ann', 'web')),
    await listen(await bearer('bob', 'shop')),
    await listen(await bearer('eve', 'seers')),
    await listen(root),
  ];
  await save(root, 'site', 'web');
  await save(root, 'till', 'shop');
  expect((await app.call('POST', '/api/disasters/active/LOST_TASKS', { token: root })).status).toBe(204);
  await app
    .get(Database)
    .transaction((tx) =>
      app.get(LiveEventRepository).add(tx, [{ type: 'SLAVE', at: Date.now(), machineId: 's1', state: 'FROZEN' }]),
    );
  await save(root, 'end', 'web', { readOnlyGroups: ['shop'] });
  for (const client of [ann, bob, eve, all]) await heard(client, 'end');
  const told = (client: EventClient) => client.events.map(({ type, data }) => data['requestId'] ?? type);
  expect(told(ann)).toEqual(['site', 'end']);
  expect(told(bob)).toEqual(['till', 'end']);
  expect(told(eve)).toEqual(['site', 'till', 'SLAVE', 'end']);
  expect(told(all)).toEqual(['site', 'till', 'DISASTER', 'SLAVE', 'end']);
});

test('groups of a request that change count from the next event on', async () => {
  const root = await bearer('root', 'admins');
  await save(root, 'moving', 'web');
  const [ann, bob, all] = [
    await listen(await bearer('ann', 'web')),
    await listen(await bearer('bob', 'shop')),
    await listen(root),
  ];
  await save(root, 'moving', 'web', { instances: undefined, owners: ['a@example.com'] });
  await heard(ann, 'moving');
  await save(root, 'moving', 'shop');
  await heard(bob, 'moving');
  await caughtUp(ann, all);
  const moves = (client: EventClient) => requestsOf(client).filter((id) => id === 'moving').length;
  expect([moves(ann), moves(bob), moves(all)]).toEqual([1, 1, 2]);
});

test('of an id that another request has now, a caller hears of the one that they may read', async () => {
  const root = await bearer('root', 'admins');
  const begin = (await listen(root)).lastId!;
  await save(root, 'name', 'web');
  expect((await app.call('DELETE', '/api/requests/request/name', { token: root })).status).toBe(200);
  await waitFor('its end', async () => (await app.sql(`SELECT 1 FROM request WHERE id = 'name'`)).length === 0);
  await save(root, 'name', 'shop');
  const types = async (token: string) => {
    const client = await listen(token, `?lastEventId=${begin}`);
    const all = await listen(root, `?lastEventId=${begin}`);
    await waitFor('the end of what was', () =>
      all.events.some(({ data }, index) => index > 2 && data['eventType'] === 'CREATED'),
    );
    await caughtUp(client, all);
    return client.events.map(({ data }) => data['eventType']);
  };
  expect(await types(await bearer('bob', 'shop'))).toEqual(['CREATED']);
  expect(await types(await bearer('ann', 'web'))).toEqual(['CREATED', 'DELETING', 'DELETED']);
});

test('a stream ends with the token that it came with: when it expires, and when it is revoked', async () => {
  const root = await bearer('root', 'admins');
  for (const [name, finish] of [
    ['short', undefined],
    ['revoked', (id: string) => app.call('DELETE', `/api/auth/tokens/${id}`, { token: root })],
  ] as const) {
    const expiresAt = Date.now() + (finish ? 60_000 : 1_200);
    const made = await app.call('POST', '/api/auth/token', {
      token: root,
      body: { name, expiresAt, user: { id: `ann-${name}`, groups: ['web'], authenticated: true } },
    });
    expect(made.status).toBe(200);
    const { id, token } = made.body as unknown as { id: string; token: string };
    const client = await listen(token);
    await finish?.(id);
    await waitFor('the end', () => client.isClosed);
    expect(client.events).toMatchObject([{ type: 'end', data: { reason: 'UNAUTHENTICATED' } }]);
  }
});
