import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { rows } from '../../../platform/database/sql.js';
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

describe('windows for deploys', () => {
  const hour = 3_600_000;
  const shop = { id: 'shop', requestIds: ['web'] };
  const everyFourthHour = { schedule: 'FREQ=HOURLY;INTERVAL=4', scheduleType: 'RFC5545', durationMillis: hour };
  const since = async () =>
    (await rows<{ at: Date | null }>(rooms.database.pool, 'SELECT windows_since AS at FROM request_group'))[0]!.at;

  test('are stored and answered with the group, and cleared where they are left out', async () => {
    const deployWindows = [{ schedule: '0 9 * * MON-THU', scheduleTimeZone: 'Europe/Paris', durationMillis: 8 * hour }];
    expect((await save({ ...shop, deployWindows })).body).toEqual({ ...shop, metadata: {}, deployWindows });
    expect((await one('shop')).body).toEqual({ ...shop, metadata: {}, deployWindows });
    expect((await rooms.get('/api/groups')).body).toEqual([{ ...shop, metadata: {}, deployWindows }]);
    await save(shop);
    expect((await one('shop')).body).toEqual({ ...shop, metadata: {} });
  });

  test('of a rule without a start count from the time at which they were saved first', async () => {
    await save({ ...shop, deployWindows: [everyFourthHour] });
    const first = await since();
    await save({ ...shop, requestIds: ['web', 'api'], deployWindows: [everyFourthHour] });
    expect(await since()).toEqual(first);
    await save({ ...shop, deployWindows: [{ ...everyFourthHour, durationMillis: 2 * hour }] });
    expect((await since())!.getTime()).toBeGreaterThan(first!.getTime());
    await save(shop);
    expect(await since()).toBeNull();
  });

  test('that are over are refused, but stay where they are stored', async () => {
    const past = { ...shop, deployWindows: [{ from: 1, to: 2 }] };
    expect(await save(past)).toRefuse(400, 'INVALID_REQUEST', { field: 'deployWindows', rule: 'future' });
    await save(shop);
    await rooms.database.pool.query('UPDATE request_group SET deploy_windows = $1', [
      JSON.stringify(past.deployWindows),
    ]);
    expect((await save({ ...past, requestIds: ['web', 'api'] })).status).toBe(200);
  });

  test.each([
    { name: 'an empty list', deployWindows: [], field: 'deployWindows', rule: 'min' },
    {
      name: 'no length',
      deployWindows: [{ schedule: '0 9 * * *' }],
      field: 'deployWindows.0.durationMillis',
      rule: 'required',
    },
    {
      name: 'a bad schedule',
      deployWindows: [{ schedule: '61 * * * *', durationMillis: 1 }],
      field: 'deployWindows.0.schedule',
      rule: 'cron',
    },
    { name: 'too many', deployWindows: Array(51).fill({ from: 1, to: 9e12 }), field: 'deployWindows', rule: 'max' },
  ])('$name is refused', async ({ deployWindows, field, rule }) => {
    expect(await save({ ...shop, deployWindows })).toRefuse(400, 'INVALID_REQUEST', { field, rule });
  });
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
