import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { UsageModule } from './usage.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [UsageModule], settings: { doNotShuffleRequests: ['database'] } });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE shuffle_blacklist'));

const blacklist = async () => (await rooms.get('/api/shuffle/blacklist')).body;
const isOn = async (id: string) => (await rooms.get(`/api/shuffle/blacklist/${id}`)).body;
const change = (method: 'POST' | 'DELETE', id: string) => rooms.call(method, `/api/shuffle/blacklist/${id}`);

test('a request is added, known or not, found, listed in order and removed', async () => {
  expect(await isOn('web')).toBe(false);
  expect(await change('POST', 'web')).toMatchObject({ status: 204, body: '' });
  await change('POST', 'api');
  expect([await isOn('web'), await isOn('api')]).toEqual([true, true]);
  expect(await blacklist()).toEqual(['api', 'database', 'web']);
  expect(await change('DELETE', 'web')).toMatchObject({ status: 204, body: '' });
  expect(await isOn('web')).toBe(false);
  expect(await blacklist()).toEqual(['api', 'database']);
});

test('adding what is there and removing what is not has no effect', async () => {
  await change('POST', 'web');
  expect((await change('POST', 'web')).status).toBe(204);
  expect(await blacklist()).toEqual(['database', 'web']);
  expect((await change('DELETE', 'nope')).status).toBe(204);
});

test('requests of the settings are on it, and only the settings can take them off', async () => {
  expect(await isOn('database')).toBe(true);
  expect(await change('POST', 'database')).toMatchObject({ status: 204 });
  expect(await change('DELETE', 'database')).toMatchObject({ status: 409, body: { code: 'SET_BY_SETTINGS' } });
  expect(await blacklist()).toEqual(['database']);
});
