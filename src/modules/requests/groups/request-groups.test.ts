import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { RequestsModule } from '../requests.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [RequestsModule] });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE request_group'));

const save = (group: unknown) => rooms.call('POST', '/api/groups', group);
const one = (id: string) => rooms.get(`/api/groups/group/${id}`);

test('a group is created, answered as it was sent, found and listed', async () => {
  const shop = { id: 'shop', requestIds: ['web', 'not-there'], metadata: { contact: 'us', floors: '3' } };
  expect(await save({ ...shop, metadata: { contact: 'us', floors: 3 } })).toMatchObject({ status: 200, body: shop });
  await save({ id: 'bank', requestIds: [] });
  expect(await one('shop')).toMatchObject({ status: 200, body: shop });
  const list = [{ id: 'bank', requestIds: [], metadata: {} }, shop];
  for (const query of ['', '?useWebCache=true']) {
    expect(await rooms.get(`/api/groups${query}`)).toMatchObject({ status: 200, body: list });
  }
});

test('an update replaces the group as a whole: what is left out is cleared', async () => {
  await save({ id: 'shop', requestIds: ['web'], metadata: { contact: 'us' } });
  const { body } = await save({ id: 'shop', requestIds: ['api', 'web'] });
  expect(body).toEqual({ id: 'shop', requestIds: ['api', 'web'], metadata: {} });
  expect((await one('shop')).body).toEqual(body);
});

test('an unknown group is 404', async () => {
  expect(await one('nope')).toRefuse(404, 'NOT_FOUND');
});

test('a group is deleted, once or twice, and answered with nothing', async () => {
  await save({ id: 'shop', requestIds: [] });
  for (let time = 0; time < 2; time++) {
    expect(await rooms.call('DELETE', '/api/groups/group/shop')).toMatchObject({ status: 200, body: '' });
  }
  expect((await one('shop')).status).toBe(404);
});

test.each([
  { name: 'no body', group: undefined, field: 'id' },
  { name: 'no id', group: { requestIds: [] }, field: 'id' },
  { name: 'an empty id', group: { id: '', requestIds: [] }, field: 'id', rule: 'required' },
  { name: 'an id with other characters', group: { id: 'a/b', requestIds: [] }, field: 'id', rule: 'pattern' },
  { name: 'an id of maxRequestIdSize', group: { id: 'x'.repeat(100), requestIds: [] }, field: 'id', rule: 'length' },
  { name: 'no requestIds', group: { id: 'shop' }, field: 'requestIds' },
  { name: 'a request id that is no text', group: { id: 'shop', requestIds: [1] }, field: 'requestIds' },
  { name: 'metadata of another form', group: { id: 'shop', requestIds: [], metadata: [] }, field: 'metadata' },
])('$name is refused, naming field and rule', async ({ group, field, rule }) => {
  expect(await save(group)).toRefuse(400, 'INVALID_REQUEST', rule ? { field, rule } : { field });
});

test('an id one character shorter than maxRequestIdSize is taken', async () => {
  expect((await save({ id: 'x'.repeat(99), requestIds: [] })).status).toBe(200);
});
