import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { PriorityFreezeParent, State } from '../../core/model/state.js';
import { Clock } from '../../platform/clock.js';
import type { ErrorDto } from '../../platform/http/error.dto.js';
import { DeploysModule } from '../deploys/deploys.module.js';
import { RequestsModule } from '../requests/requests.module.js';
import { StateModule } from '../state/state.module.js';
import { FreezeExpiryPoller, PriorityKillsPoller } from './priority-freeze.poller.js';
import { PriorityModule } from './priority.module.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
const path = '/api/priority/freeze';

beforeAll(async () => {
  // The timers are off: passes are made by the test.
  const settings = { checkExpiringUserActionEveryMillis: 0, checkPriorityKillsEveryMillis: 0 };
  rooms = await startRooms({ modules: [PriorityModule, RequestsModule, DeploysModule, StateModule], settings, clock });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  now = start;
  await rooms.database.pool.query(
    `TRUNCATE priority_freeze, request, request_cleanup, request_history, pending_request, pending_task, pending_deploy,
       deploy_history, task, task_launch, task_update, task_cleanup, expiring_action, disabled_action`,
  );
});

const freeze = (body: object) => rooms.call<PriorityFreezeParent & ErrorDto>('POST', path, body);
const current = () => rooms.get<PriorityFreezeParent & ErrorDto>(path);
const cleanups = (): Promise<Record<string, unknown>[]> =>
  rooms.database.pool.query(
    'SELECT request_id, cleanup_type, user_name, message, action_id FROM task_cleanup ORDER BY request_id',
  );
const killPass = () => rooms.app.get(PriorityKillsPoller).runOnce(now);
const insert = async (
  requestId: string,
  taskPriorityLevel?: number,
  requestType: 'SERVICE' | 'WORKER' | 'RUN_ONCE' = 'SERVICE',
) => {
  const tx = rooms.database.pool;
  await insertRequest(tx, { request: { id: requestId, requestType, taskPriorityLevel }, activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { requestId } });
  return insertTask(tx, { requestId, updates: [['TASK_RUNNING', start]] });
};

describe('a freeze', () => {
  test('is there until it is deleted, with its message and action id', async () => {
    expect(await current()).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const sent = { minimumPriorityLevel: 0.4, killTasks: false, message: 'm', actionId: 'a1' };
    const shown = { priorityFreeze: sent, timestamp: start };
    expect(await freeze(sent)).toMatchObject({ status: 200, body: shown });
    expect((await current()).body).toEqual(shown);
    expect(await rooms.call('DELETE', path)).toMatchObject({ status: 202, body: '' });
    expect((await current()).status).toBe(404);
    expect(await rooms.call('DELETE', path)).toMatchObject({ status: 400 });
  });

  test('gets an action id when none is given', async () => {
    const { body } = await freeze({ minimumPriorityLevel: 1, killTasks: false });
    expect(body.priorityFreeze.actionId).toMatch(/^[0-9a-f-]{36}$/);
    expect((await current()).body).toEqual(body);
  });

  test('takes the place of one in force', async () => {
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true, message: 'm', durationMillis: 1_000 });
    now += 5;
    await freeze({ minimumPriorityLevel: 0.2, killTasks: false, actionId: 'a2' });
    expect((await current()).body).toEqual({
      priorityFreeze: { minimumPriorityLevel: 0.2, killTasks: false, actionId: 'a2' },
      timestamp: start + 5,
    });
  });

  test('kills nothing unless it is told to', async () => {
    expect(await freeze({ minimumPriorityLevel: 0.5 })).toMatchObject({
      status: 200,
      body: { priorityFreeze: { minimumPriorityLevel: 0.5, killTasks: false } },
    });
  });

  test.each([
    ['a level of 0', { minimumPriorityLevel: 0, killTasks: false }, 'minimumPriorityLevel'],
    ['a level above 1', { minimumPriorityLevel: 2, killTasks: false }, 'minimumPriorityLevel'],
    ['a negative level', { minimumPriorityLevel: -0.5, killTasks: false }, 'minimumPriorityLevel'],
    ['a level as text', { minimumPriorityLevel: '0.5', killTasks: false }, 'minimumPriorityLevel'],
    ['no level', { killTasks: false }, 'minimumPriorityLevel'],
    ['another word for killing', { minimumPriorityLevel: 0.5, killTasks: 'yes' }, 'killTasks'],
    ['no time at all', { minimumPriorityLevel: 0.5, killTasks: false, durationMillis: 0 }, 'durationMillis'],
  ])('is refused with %s', async (_what, body, field) => {
    const answer = await freeze(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', errors: [{ field }] } });
    expect(answer.body.message).toContain(field);
    expect((await current()).status).toBe(404);
  });

  test('without a body is refused', async () => {
    expect(await rooms.call('POST', path)).toMatchObject({ status: 400 });
  });

  test('is shown in the state of the service', async () => {
    expect((await rooms.get<State>('/api/state?skipCache=true')).body).not.toHaveProperty('minimumPriorityLevel');
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false });
    expect((await rooms.get<State>('/api/state?skipCache=true')).body.minimumPriorityLevel).toBe(0.4);
  });
});

describe('a freeze with a duration', () => {
  const expiryPass = () => rooms.app.get(FreezeExpiryPoller).runOnce(now);

  test('ends by itself, and not before its time', async () => {
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false, durationMillis: 2_000 });
    now += 2_000;
    expect(await expiryPass()).toBe(start + 2_001);
    expect((await current()).status).toBe(200);
    now += 1;
    expect(await expiryPass()).toBeUndefined();
    expect((await current()).status).toBe(404);
  });

  test('ends in time under a leader that was not there when it began', async () => {
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false, durationMillis: 2_000 });
    now += 60_000;
    const settings = { checkExpiringUserActionEveryMillis: 1 };
    const other = await startRooms({ modules: [PriorityModule], databaseUrl: rooms.databaseUrl, settings, clock });
    try {
      await expect.poll(async () => (await other.get(path)).status, { timeout: 10_000 }).toBe(404);
    } finally {
      await other.close();
    }
  });

  test('stays while its successor has more time, or no limit', async () => {
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false, durationMillis: 2_000 });
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false });
    now += 3_000;
    expect(await expiryPass()).toBeUndefined();
    expect((await current()).status).toBe(200);
  });
});

describe('killTasks', () => {
  test('kills active tasks below the level, once, with user, message and action id of the freeze', async () => {
    for (const [id, level] of [
      ['low', 0.39],
      ['at', 0.4],
      ['high', 0.9],
      ['plain', undefined],
    ] as const) {
      await insert(id, level);
    }
    await insert('job', undefined, 'RUN_ONCE');
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true, message: 'm', actionId: 'a1' });
    expect(await cleanups()).toEqual([]);
    await rooms.database.pool.query(`UPDATE priority_freeze SET user_name = 'me@example.org'`);
    await killPass();
    const order = { cleanup_type: 'PRIORITY_KILL', user_name: 'me@example.org', message: 'm', action_id: 'a1' };
    expect(await cleanups()).toEqual([
      { request_id: 'job', ...order },
      { request_id: 'low', ...order },
    ]);

    const late = await insert('later', 0.1);
    await killPass();
    expect((await cleanups()).map((row) => row['request_id'])).not.toContain(late.requestId);
    expect((await current()).status).toBe(200);
  });

  test('leaves pending tasks where they are', async () => {
    await insertRequest(rooms.database.pool, { request: { taskPriorityLevel: 0.1 } });
    await insertPendingTask(rooms.database.pool, makePendingTask());
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true });
    await killPass();
    expect(await rooms.database.pool.query('SELECT 1 FROM pending_task')).toHaveLength(1);
  });

  test('spares a task whose request is unknown, and one that was told to go before', async () => {
    await insertTask(rooms.database.pool, { requestId: 'gone' });
    const { id, requestId } = await insert('low', 0.1);
    await rooms.database.pool.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, $2, 'BOUNCING', now())`,
      [id, requestId],
    );
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true });
    await killPass();
    expect(await cleanups()).toMatchObject([{ request_id: 'low', cleanup_type: 'BOUNCING' }]);
  });

  test.each([
    ['deleted', () => rooms.call('DELETE', path)],
    ['replaced by one that kills nothing', () => freeze({ minimumPriorityLevel: 0.4, killTasks: false })],
  ])('is withdrawn when the freeze is %s before the pass', async (_how, end) => {
    await insert('low', 0.1);
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true });
    await end();
    await killPass();
    expect(await cleanups()).toEqual([]);
  });

  test('reaches more tasks than one transaction holds', async () => {
    await insertRequest(rooms.database.pool, { request: { id: 'many', taskPriorityLevel: 0.1 } });
    for (let instanceNo = 1; instanceNo <= 230; instanceNo++) {
      await insertTask(rooms.database.pool, { requestId: 'many', instanceNo });
    }
    await freeze({ minimumPriorityLevel: 0.4, killTasks: true });
    await killPass();
    expect(await cleanups()).toHaveLength(230);
  });
});

describe('a request below the level', () => {
  const refused = { status: 400, body: { code: 'INVALID_REQUEST', errors: [{ field: 'taskPriorityLevel' }] } };
  const deploy = (requestId: string) =>
    rooms.call<ErrorDto>('POST', '/api/deploys', { deploy: { requestId, id: 'd2', command: 'sleep 1' } });
  const bounce = (requestId: string) => rooms.call<ErrorDto>('POST', `/api/requests/request/${requestId}/bounce`);

  test('cannot be bounced, nor scaled with a bounce; scaled without one it can', async () => {
    await insert('low', 0.1);
    await insert('high', 0.9);
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false, message: 'month end' });
    expect(await bounce('low')).toMatchObject(refused);
    expect((await bounce('low')).body.message).toContain('month end');
    expect(await bounce('high')).toMatchObject({ status: 200 });
    const scale = (body: object) => rooms.call('PUT', '/api/requests/request/low/scale', body);
    expect(await scale({ instances: 2, bounce: true })).toMatchObject(refused);
    expect(await scale({ instances: 2 })).toMatchObject({ status: 200 });
  });

  test('cannot be deployed when it is a SERVICE or WORKER', async () => {
    await insert('low', 0.1);
    await insert('worker', 0.1, 'WORKER');
    await insert('job', 0.1, 'RUN_ONCE');
    await insert('high', 0.4);
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false });
    for (const id of ['low', 'worker']) {
      const answer = await deploy(id);
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_DEPLOY' } });
      expect(answer.body.message).toContain('frozen');
    }
    expect(await deploy('job')).toMatchObject({ status: 200 });
    expect(await deploy('high')).toMatchObject({ status: 200 });
  });

  test('can be when the freeze is over', async () => {
    await insert('low', 0.1);
    await freeze({ minimumPriorityLevel: 0.4, killTasks: false });
    await rooms.call('DELETE', path);
    expect(await deploy('low')).toMatchObject({ status: 200 });
  });
});
