import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { Clock } from '../../platform/clock.js';
import { RequestsModule } from '../requests/requests.module.js';
import { DeploysModule } from './deploys.module.js';
import { DeploysPoller } from './deploys.poller.js';
import { Pollers } from '../../platform/poller/pollers.js';

/* A request that a deploy moves to another group counts there from the beginning of the deploy on, as do the bytes of both. */

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

const maxRequestsPerGroup = 3;
const full = { status: 400, body: { code: 'INVALID_REQUEST', errors: [{ rule: 'quota' }] } };
let rooms: RoomApp;

beforeAll(async () => {
  const settings = { maxRequestsPerGroup, maxRecordMegabytesPerGroup: 1, deployHealthyBySeconds: 60 };
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

describe('the requests of a group and their deploys in use take one megabyte together', () => {
  const texts = (kilobytes: number) =>
    Object.fromEntries(Array.from({ length: kilobytes / 4 }, (_, index) => [`a${index}`, 'x'.repeat(4_070)]));
  const job = (id: string, kilobytes: number, group = 'many') =>
    rooms.call('POST', '/api/requests', {
      id,
      requestType: 'ON_DEMAND',
      group,
      requiredSlaveAttributes: texts(kilobytes),
    });
  const jobDeploy = (requestId: string, id: string, kilobytes: number, more = {}) =>
    rooms.call('POST', '/api/deploys', {
      deploy: { id, requestId, command: 'run', env: texts(kilobytes) },
      ...more,
    });
  const done = { status: 200 };
  const noRoom = (code: string, field: string) => ({
    status: 400,
    body: {
      code,
      errors: [
        { field, rule: 'quota', message: expect.stringContaining('1 MB (maxRecordMegabytesPerGroup)') as unknown },
      ],
    },
  });
  const noRoomForRequest = noRoom('INVALID_REQUEST', 'request');
  const noRoomForDeploy = noRoom('INVALID_DEPLOY', 'deploy');

  test('new ones and those that grow are refused, those that shrink are not, and another group has its own', async () => {
    expect(await job('m1', 240)).toMatchObject(done);
    expect(await job('m2', 240)).toMatchObject(done);
    expect(await jobDeploy('m1', 'd1', 240)).toMatchObject(done);
    expect(await jobDeploy('m2', 'd1', 240)).toMatchObject(done);
    expect(await job('m3', 120)).toMatchObject(noRoomForRequest);
    expect(await jobDeploy('m1', 'd2', 120)).toMatchObject(noRoomForDeploy);
    // Limited by its number alone.
    expect(await job('m3', 0)).toMatchObject(done);
    expect(await job('m1', 120)).toMatchObject(done);
    expect(await job('m1', 120)).toMatchObject(done);
    expect(await job('m3', 120)).toMatchObject(done);
    expect(await job('m1', 240)).toMatchObject(noRoomForRequest);
    expect(await job('a1', 240, 'apart')).toMatchObject(done);
  });

  test('a deploy counts as long as it is in use, by its request or by a task', async () => {
    expect(await job('m2', 240)).toMatchObject(done);
    expect(await jobDeploy('m2', 'd1', 40)).toMatchObject(done);
    expect(await job('m1', 0)).toMatchObject(done);
    for (const id of ['d1', 'd2', 'd3', 'd4', 'd5']) {
      expect(await jobDeploy('m1', id, 240)).toMatchObject(done);
      await rooms.database.pool.query('DELETE FROM pending_deploy');
      await rooms.database.pool.query('UPDATE request SET pending_deploy_id = NULL');
    }
    for (const id of ['d1', 'd2']) {
      await insertTask(rooms.database.pool, { requestId: 'm1', deployId: id, updates: [['TASK_RUNNING', start]] });
    }
    expect(await jobDeploy('m1', 'd6', 120)).toMatchObject(noRoomForDeploy);
    await rooms.database.pool.query('UPDATE task SET ended_at = now()');
    expect(await jobDeploy('m1', 'd6', 120)).toMatchObject(done);
  });

  test('a request that a deploy brings counts beside the stored one, and one that comes to a group with its deploy', async () => {
    expect(await job('m1', 240)).toMatchObject(done);
    expect(await job('m2', 0)).toMatchObject(done);
    const updatedRequest = { id: 'm2', requestType: 'ON_DEMAND', group: 'many', requiredSlaveAttributes: texts(240) };
    expect(await jobDeploy('m2', 'd1', 240, { updatedRequest })).toMatchObject(done);
    expect(await job('a1', 120, 'apart')).toMatchObject(done);
    expect(await jobDeploy('a1', 'd1', 240)).toMatchObject(done);
    expect(await job('a1', 120)).toMatchObject(noRoomForRequest);
  });
});
