import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SpreadAllPoller } from './spread-all.poller.js';
import { Database } from '../../platform/database/database.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom({ spreadAllSlavesEnabled: true });
});
afterAll(() => room.close());
beforeEach(async () => {
  await room.sql('TRUNCATE request, request_history, request_cleanup, pending_request, deploy_history, slave, task');
  await room.slaves(3);
});

const spread = () => room.app.get(SpreadAllPoller, { strict: false }).runOnce(++room.clock.millis);
const everywhere = (id = 'agent') => room.request(id, { slavePlacement: 'SPREAD_ALL_SLAVES', instances: 2 });
const instances = async (id = 'agent') =>
  (await room.call('GET', `/api/requests/request/${id}`)).body.request.instances;
const setState = (id: string, state: string) => room.sql('UPDATE slave SET state = $2 WHERE id = $1', [id, state]);

test('a request gets the number of active slaves when it is saved, whatever it asks for', async () => {
  await setState('slave3', 'FROZEN');
  expect((await everywhere()).instances).toBe(2);
  await setState('slave3', 'ACTIVE');
  expect((await room.request('agent', { slavePlacement: 'SPREAD_ALL_SLAVES' })).instances).toBe(3);
});

test('the number follows the active slaves, in the history as SCALED, and the scheduler is told', async () => {
  await everywhere();
  await room.deploy('agent');
  await room.sql('TRUNCATE pending_request');
  await spread();
  expect(await room.pending('agent')).toEqual([]);
  await setState('slave1', 'DECOMMISSIONING');
  await spread();
  expect(await instances()).toBe(2);
  expect((await room.history('agent'))[0]).toEqual([
    'SCALED',
    null,
    'One instance per active slave -- Scaled from 3 to 2',
  ]);
  expect(await room.pending('agent')).toMatchObject([{ pendingType: 'UPDATED_REQUEST', deployId: 'd1' }]);
});

test('without an active slave one instance waits for one', async () => {
  await everywhere();
  await room.sql(`UPDATE slave SET state = 'DEAD'`);
  await spread();
  expect(await instances()).toBe(1);
});

test('other requests keep their number', async () => {
  await room.request('web', { instances: 2 });
  await room.sql('DELETE FROM slave');
  await spread();
  expect(await instances('web')).toBe(2);
});

test('a request that a caller is changing right now, or that is being cleaned, waits', async () => {
  await everywhere('held');
  await everywhere('leaving');
  await room.call('DELETE', '/api/requests/request/leaving');
  await setState('slave1', 'DEAD');
  await room.app.get(Database).pool.transaction(async (tx) => {
    await tx.query(`SELECT 1 FROM request WHERE id = 'held' FOR UPDATE`);
    await spread();
  });
  expect(await instances('held')).toBe(3);
  await spread();
  expect(await instances('held')).toBe(2);
  const [leaving] = await room.sql(`SELECT document FROM request WHERE id = 'leaving'`);
  expect(leaving!['document']).toMatchObject({ instances: 3 });
});

test('it cannot be scaled by hand', async () => {
  await everywhere();
  expect(await room.call('PUT', '/api/requests/request/agent/scale', { instances: 7 })).toRefuse(
    400,
    'INVALID_REQUEST',
    {
      field: 'instances',
      rule: 'followsSlaves',
    },
  );
});
