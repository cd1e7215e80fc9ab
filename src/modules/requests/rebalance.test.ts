import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom({ rebalanceRacksOnScaleDown: true, expectedRacksCount: 2 });
  await room.slaves(1);
});
afterAll(() => room.close());

test('a scale down lets the tasks that crowd a rack move, told under ids of their own', async () => {
  await room.request('web', { instances: 5, rackSensitive: true });
  await room.deploy('web');
  // All of them on one rack.
  for (let number = 1; number <= 5; number++) await room.task('web', number);
  await room.call('PUT', '/api/requests/request/web/scale', { instances: 4, message: 'night', actionId: 'a1' });
  const cleanups = await room.sql(`SELECT * FROM task_cleanup WHERE request_id = 'web' ORDER BY cleanup_type`);
  const told = { user_name: 'scheduler', message: 'night -- Scaled from 5 to 4' };
  expect(cleanups).toMatchObject([
    { cleanup_type: 'REBALANCE_RACKS', ...told },
    { cleanup_type: 'SCALING_DOWN', ...told },
  ]);
  const actionIds = cleanups.map((cleanup) => cleanup['action_id']);
  expect(new Set([...actionIds, 'a1']).size).toBe(3);
  // The queue counts without them, and so finds one missing.
  expect(await room.pending('web')).toMatchObject([{ pendingType: 'UPDATED_REQUEST' }]);
});

test('any update with fewer instances does so', async () => {
  await room.request('api', { instances: 3, slaveAttributeMinimums: { zone: { east: 100 } } });
  await room.deploy('api');
  for (let number = 1; number <= 3; number++) await room.task('api', number);
  await room.request('api', { instances: 2, slaveAttributeMinimums: { zone: { east: 100 } } });
  const cleanups = await room.sql(
    `SELECT cleanup_type AS type, count(*)::int AS tasks FROM task_cleanup WHERE request_id = 'api' GROUP BY 1 ORDER BY 1`,
  );
  expect(cleanups).toEqual([
    { type: 'REBALANCE_SLAVE_ATTRIBUTES', tasks: 2 },
    { type: 'SCALING_DOWN', tasks: 1 },
  ]);
});
