import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { Clock } from '../../platform/clock.js';
import { RequestsModule } from '../requests/requests.module.js';
import { DeploysModule } from './deploys.module.js';
import { DeploysPoller } from './deploys.poller.js';
import { Pollers } from '../../platform/poller/pollers.js';

/* A request that a deploy moves to another group counts there from the beginning of the deploy on. */

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

const maxRequestsPerGroup = 3;
const full = { status: 400, body: { code: 'INVALID_REQUEST', errors: [{ rule: 'quota' }] } };
let rooms: RoomApp;

beforeAll(async () => {
  const settings = { maxRequestsPerGroup, deployHealthyBySeconds: 60 };
  rooms = await startRooms({ modules: [RequestsModule, DeploysModule], clock: new StoppedClock(), settings });
  // Deploys are looked at when a test says so.
  await rooms.app.get(Pollers).stop();
});
afterAll(() => rooms.close());
beforeEach(async () => {
  await rooms.database.pool.query(
    'TRUNCATE request, request_history, deploy_history, pending_deploy, pending_request, task, task_launch, task_update, task_cleanup',
  );
  for (const [id, group] of [
    ['g1', 'g'],
    ['g2', 'g'],
    ['a', undefined],
    ['b', 'other'],
  ] as const) {
    await insertRequest(rooms.database.pool, { request: { id, group } });
  }
});

const save = (id: string, group?: string) =>
  rooms.call('POST', '/api/requests', { id, requestType: 'SERVICE', instances: 1, group });
const deploy = (requestId: string, group?: string, id = 'd1') =>
  rooms.call('POST', '/api/deploys', {
    deploy: { id, requestId, command: 'serve', resources: { cpus: 1, memoryMb: 64 } },
    updatedRequest: { id: requestId, requestType: 'SERVICE', instances: 1, group },
  });
const groups = async () => {
  const found = await rooms.database.pool.query(`SELECT document->>'group' AS of FROM request ORDER BY id`);
  return (found as { of: string | null }[]).map((row) => row.of);
};
/** The only task of the deploy runs, or has failed. */
async function ends(requestId: string, how: 'TASK_RUNNING' | 'TASK_FAILED') {
  await insertTask(rooms.database.pool, { requestId, updates: [[how, start]] });
  await rooms.app.get(DeploysPoller).runOnce(start + 60_000);
  expect(await rooms.database.pool.query('SELECT request_id FROM pending_deploy')).toEqual([]);
}

test('a second deploy, a new request and a saved one find no room beside it, before its end and after', async () => {
  expect(await deploy('a', 'g')).toMatchObject({ status: 200 });
  expect(await deploy('b', 'g')).toMatchObject(full);
  expect(await save('new', 'g')).toMatchObject(full);
  expect(await save('b', 'g')).toMatchObject(full);
  await ends('a', 'TASK_RUNNING');
  expect(await groups()).toEqual(['g', 'other', 'g', 'g']);
  expect(await save('b', 'g')).toMatchObject(full);
});

test('a deploy that fails gives its place to another', async () => {
  await deploy('a', 'g');
  await ends('a', 'TASK_FAILED');
  expect(await deploy('b', 'g')).toMatchObject({ status: 200 });
});

test('it counts once for itself, and in the group that it leaves as well', async () => {
  await deploy('b', 'g');
  expect(await deploy('b', 'g', 'd2')).toMatchObject({ status: 409, body: { code: 'DEPLOY_IN_PROGRESS' } });
  expect([await save('o2', 'other'), await save('o3', 'other')]).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(await save('o4', 'other')).toMatchObject(full);
});

test('requests without a group count as one', async () => {
  expect(await deploy('g1')).toMatchObject({ status: 200 });
  expect(await deploy('g2')).toMatchObject({ status: 200 });
  expect(await deploy('b')).toMatchObject(full);
});

test('a deploy that moves no request counts nowhere else', async () => {
  await deploy('g1', 'g');
  await deploy('g2', 'g');
  expect(await save('new', 'g')).toMatchObject({ status: 200 });
});

test('of two deploys that begin at the same time one gets the last place', async () => {
  const answers = await Promise.all([deploy('a', 'g'), deploy('b', 'g')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
});
