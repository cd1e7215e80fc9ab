import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeMachine, start } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { Clock } from '../../../platform/clock.js';
import { MachineReports } from '../machine-reports.service.js';
import { SlavesModule } from '../slaves.module.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({
    modules: [SlavesModule],
    clock,
    settings: { checkSchedulerEverySeconds: 0 },
  });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  now = start;
  await rooms.database.pool.query('TRUNCATE inactive_host, slave, rack, machine_history');
});

const listed = async () => (await rooms.get<string[]>('/api/inactive')).body;
const mark = (host: string) => rooms.call('POST', `/api/inactive?host=${host}`);

test('hosts are marked and taken off the list, once or twice, and answered with nothing', async () => {
  expect(await listed()).toEqual([]);
  for (const host of ['hostx', 'hosta', 'hostx']) expect(await mark(host)).toMatchObject({ status: 204, body: '' });
  expect(await listed()).toEqual(['hosta', 'hostx']);
  for (let time = 0; time < 2; time++) {
    expect(await rooms.call('DELETE', '/api/inactive?host=hostx')).toMatchObject({ status: 204, body: '' });
    expect(await listed()).toEqual(['hosta']);
  }
});

test('all are taken off at once; a body is not looked at', async () => {
  await mark('hosta');
  await mark('hostb');
  expect(await rooms.call('DELETE', '/api/inactive/all', { user: { id: 'me' } })).toMatchObject({ status: 204 });
  expect(await listed()).toEqual([]);
  const unstorable = { id: 'x', scopes: ['a\u0000'] };
  for (const path of ['inactive/all', 'slaves/dead'])
    expect(await rooms.call('DELETE', `/api/${path}`, unstorable)).toMatchObject({ body: '' });
});

test.each(['POST', 'DELETE'])('%s without a host is refused', async (method) => {
  for (const query of ['', '?host=']) {
    expect(await rooms.call(method, `/api/inactive${query}`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'host' }] },
    });
  }
});

test('a mark lasts a day from the last time it was made', async () => {
  const day = 24 * 3_600_000;
  await mark('hostx');
  now += day - 1;
  await mark('hostx');
  now += day - 1;
  expect(await listed()).toEqual(['hostx']);
  now += 1;
  expect(await listed()).toEqual([]);
});

test('the mark goes with the record of its slave, so that one which comes back may be used', async () => {
  const seen = () =>
    rooms.database.leaderTransaction((tx) => rooms.app.get(MachineReports).seen(tx, makeMachine(), now));
  await mark('host-1');
  await seen();
  expect((await rooms.get('/api/slaves?state=STARTING_DECOMMISSION')).body).toMatchObject([{ id: 's1' }]);
  await rooms.call('DELETE', '/api/slaves/slave/s1');
  expect(await listed()).toEqual([]);
  await seen();
  expect((await rooms.get('/api/slaves?state=ACTIVE')).body).toMatchObject([{ id: 's1' }]);
});
