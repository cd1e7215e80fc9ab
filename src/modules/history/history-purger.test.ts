import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-app.js';
import { Clock } from '../../platform/clock.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { HistoryPurger } from './history-purger.service.js';
import { HistoryModule } from './history.module.js';

const day = 86_400_000;
class StoppedClock extends Clock {
  override now = () => start;
}
let rooms: RoomApp;
const tx = () => rooms.database.pool;
const purger = () => rooms.app.get(HistoryPurger, { strict: false });
const purging = () => rooms.app.get<Settings>(SETTINGS, { strict: false }).historyPurging;
beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule], clock: new StoppedClock() });
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx().query(
    `TRUNCATE request, request_history, deploy_history, deploy_statistics, task_history, task, task_launch, task_update, pending_deploy,
       pending_task`,
  ),
);
afterEach(() => void Object.assign(purging(), testSettings().historyPurging));

const ended = (id: string, ageDays: number, requestId = 'web') =>
  tx().query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, host, instance_no, started_at, updated_at, last_task_status, data)
     VALUES ($1, $2, 'd1', 'h', 1, $3, $3, 'TASK_FINISHED', '{}')`,
    [id, requestId, new Date(start - ageDays * day)],
  );
const left = async (where = 'true'): Promise<string[]> =>
  (await tx().query(`SELECT task_id FROM task_history WHERE ${where} ORDER BY task_id`)).map(
    (row: { task_id: string }) => row.task_id,
  );
const fiveTasks = async (requestId = 'web') => {
  for (const age of [1, 2, 3, 4, 5]) await ended(`${requestId}-${age}`, age, requestId);
};

describe('ended tasks', () => {
  test.each([
    { name: 'too old are forgotten', keys: { deleteTaskHistoryAfterDays: 3 }, stay: ['web-1', 'web-2', 'web-3'] },
    {
      name: 'too many are forgotten, oldest first',
      keys: { deleteTaskHistoryAfterTasksPerRequest: 2 },
      stay: ['web-1', 'web-2'],
    },
    { name: 'stay without a limit', keys: {}, stay: ['web-1', 'web-2', 'web-3', 'web-4', 'web-5'] },
    {
      name: 'go as many at once as one statement may touch',
      keys: { deleteTaskHistoryAfterDays: 1, purgeLimitPerQuery: 3 },
      stay: ['web-1', 'web-2'],
    },
    {
      name: 'of a request with limits of its own obey these',
      keys: { deleteTaskHistoryAfterDays: 1, requestOverrides: { web: { deleteTaskHistoryAfterDays: 4 } } },
      stay: ['web-1', 'web-2', 'web-3', 'web-4'],
    },
  ])('$name', async ({ keys, stay }) => {
    Object.assign(purging(), keys);
    await fiveTasks();
    await purger().purge();
    expect(await left()).toEqual(stay);
  });

  test.each([
    { name: 'its newest', keepRuns: { count: 2 }, stay: ['own-1', 'own-2'] },
    { name: 'those of some days', keepRuns: { days: 3 }, stay: ['own-1', 'own-2', 'own-3'] },
    { name: 'what both let stay', keepRuns: { count: 4, days: 2 }, stay: ['own-1', 'own-2'] },
  ])('of a request that keeps $name go, although the operator purges nothing', async ({ keepRuns, stay }) => {
    await insertRequest(tx(), { request: { id: 'own', keepRuns } });
    await insertRequest(tx(), { request: { id: 'web' } });
    await fiveTasks('own');
    await fiveTasks();
    await purger().purgeKeptRuns();
    expect(await left(`request_id = 'own'`)).toEqual(stay);
    expect(await left(`request_id = 'web'`)).toHaveLength(5);
  });

  test('of the same moment as the last one that stays stay with it', async () => {
    Object.assign(purging(), { deleteTaskHistoryAfterTasksPerRequest: 2 });
    for (const [id, age] of [
      ['a', 1],
      ['b', 2],
      ['c', 2],
      ['d', 3],
    ] as const)
      await ended(id, age);
    await purger().purge();
    expect(await left()).toEqual(['a', 'b', 'c']);
  });

  test('keep to the global limits where those of their request say nothing', async () => {
    Object.assign(purging(), {
      deleteTaskHistoryAfterDays: 2,
      requestOverrides: { web: { deleteTaskHistoryAfterTasksPerRequest: 4 } },
    });
    await fiveTasks();
    await purger().purge();
    expect(await left()).toEqual(['web-1', 'web-2']);
  });

  test('a payload of an older installation goes with the details', async () => {
    Object.assign(purging(), { deleteTaskHistoryBytesAfterTasksPerRequest: 1 });
    await fiveTasks();
    await tx().query(`UPDATE task_history SET data = NULL, bytes = '\\x00'`);
    await purger().purge();
    expect(await left('purged AND bytes IS NULL')).toEqual(['web-2', 'web-3', 'web-4', 'web-5']);
    expect(await left('bytes IS NOT NULL')).toEqual(['web-1']);
  });

  test('lose their details by the other two limits, and are listed still', async () => {
    Object.assign(purging(), { deleteTaskHistoryBytesAfterTasksPerRequest: 3 });
    await fiveTasks();
    await fiveTasks('other');
    await purger().purge();
    expect(await left()).toHaveLength(10);
    expect(await left('purged AND data IS NULL')).toEqual(['other-4', 'other-5', 'web-4', 'web-5']);
    await purger().purge();
    expect(await left('purged')).toHaveLength(4);
  });
});

test('changes of requests go by age alone', async () => {
  for (const age of [364, 366]) {
    await tx().query(
      `INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ('web', $1, 'UPDATED', '{}')`,
      [new Date(start - age * day)],
    );
  }
  await purger().purgeRequests();
  expect(await tx().query('SELECT created_at FROM request_history')).toEqual([
    { created_at: new Date(start - 364 * day) },
  ]);
});

test('deploys go by age, unless they serve, are under way or have a task', async () => {
  const createdAt = start - 366 * day;
  await insertRequest(tx(), { activeDeployId: 'active', pendingDeployId: 'pending' });
  for (const id of ['active', 'pending', 'running', 'old']) await insertDeploy(tx(), { deploy: { id }, createdAt });
  await insertDeploy(tx(), { deploy: { id: 'young' }, createdAt: start - 364 * day });
  await insertTask(tx(), { deployId: 'running' });
  await purger().purgeDeploys();
  const found: { deploy_id: string }[] = await tx().query('SELECT deploy_id FROM deploy_history ORDER BY 1');
  expect(found.map((row) => row.deploy_id)).toEqual(['active', 'pending', 'running', 'young']);
});

describe('figures of deploys', () => {
  const count = (requestId: string, deployId: string) =>
    tx().query(`INSERT INTO deploy_statistics (request_id, deploy_id, last_finish_at) VALUES ($1, $2, $3)`, [
      requestId,
      deployId,
      new Date(start),
    ]);
  const counted = async (): Promise<string[]> =>
    (await tx().query('SELECT deploy_id FROM deploy_statistics ORDER BY 1')).map(
      (row: { deploy_id: string }) => row.deploy_id,
    );

  test.each([1, 2, 25_000])('go with the deploys, %i per statement', async (purgeLimitPerQuery) => {
    Object.assign(purging(), { purgeLimitPerQuery });
    await insertRequest(tx(), { activeDeployId: 'active', pendingDeployId: 'pending' });
    await insertTask(tx(), { deployId: 'running' });
    for (const id of ['active', 'pending', 'running', 'old-1', 'old-2', 'young']) {
      await insertDeploy(tx(), { deploy: { id }, createdAt: start - (id === 'young' ? 364 : 366) * day });
      await count('web', id);
    }
    // Their deploys went before.
    for (const id of ['former-1', 'former-2']) await count('web', id);
    await purger().purgeDeploys();
    expect(await counted()).toEqual(['active', 'pending', 'running', 'young']);
  });

  test('stay without a history while something counts for them', async () => {
    await insertRequest(tx(), { activeDeployId: 'active', pendingDeployId: 'pending' });
    await insertRequest(tx(), { request: { id: 'other' } });
    await insertTask(tx(), { deployId: 'running' });
    for (const id of ['active', 'pending', 'running', 'waiting', 'deploying', 'unused']) await count('web', id);
    // Deploys of another request may have the same ids.
    for (const id of ['active', 'running']) await count('other', id);
    await tx().query(
      `INSERT INTO pending_deploy (request_id, deploy_id, state) VALUES ('web', 'deploying', 'WAITING')`,
    );
    const waiting = makePendingTask();
    await insertPendingTask(tx(), { ...waiting, pendingTaskId: { ...waiting.pendingTaskId, deployId: 'waiting' } });
    await purger().purgeDeploys();
    expect(await tx().query('SELECT request_id, deploy_id FROM deploy_statistics ORDER BY 2')).toEqual(
      ['active', 'deploying', 'pending', 'running', 'waiting'].map((deploy_id) => ({ request_id: 'web', deploy_id })),
    );
  });

  test('stay where deploys are not purged', async () => {
    Object.assign(purging(), { purgeDeployHistoryAfterDays: 0 });
    await insertRequest(tx());
    await count('web', 'former');
    await purger().purgeDeploys();
    expect(await counted()).toEqual(['former']);
  });
});

test('figures of deleted requests go after a week', async () => {
  await insertRequest(tx());
  await insertDeploy(tx());
  for (const [id, age] of [
    ['web', 30],
    ['gone', 8],
    ['just-gone', 6],
  ] as const) {
    await tx().query(`INSERT INTO deploy_statistics (request_id, deploy_id, last_finish_at) VALUES ($1, 'd1', $2)`, [
      id,
      new Date(start - age * day),
    ]);
  }
  await purger().purge();
  const found: { request_id: string }[] = await tx().query('SELECT request_id FROM deploy_statistics ORDER BY 1');
  expect(found.map((row) => row.request_id)).toEqual(['just-gone', 'web']);
});
