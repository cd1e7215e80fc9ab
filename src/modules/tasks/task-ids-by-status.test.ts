import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { TaskId } from '../../core/model/task.js';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { TaskIdsByStatusService } from './task-ids-by-status.service.js';
import { TaskStoreModule } from './task-store.module.js';

/** A minute after the tasks of this test began to run. */
class LaterClock extends Clock {
  override now(): number {
    return start + 60_000;
  }
}

let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  rooms = await startRooms({ modules: [TaskStoreModule], clock: new LaterClock() });
  tx = rooms.database.pool;
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(`TRUNCATE request, request_history, deploy_history, pending_task, task, task_launch, task_update, task_healthcheck,
    task_liveness, task_cleanup, killed_task`),
);

const sorted = async (...ids: string[]) => {
  const found = await rooms.app.get(TaskIdsByStatusService).forRequests(tx, ids);
  return Object.fromEntries(
    [...found].map(([id, lists]) => [
      id,
      Object.entries(lists).flatMap(([list, tasks]) =>
        (tasks as TaskId[]).map(({ instanceNo }) => `${instanceNo} ${list}`),
      ),
    ]),
  );
};
const running = (instanceNo: number, requestId = 'web', at = start) =>
  insertTask(tx, { requestId, instanceNo, startedAt: start - 1, updates: [['TASK_RUNNING', at]] });
const checked = (taskId: TaskId, statusCode: number) =>
  tx.query('INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, $3)', [
    taskId.id,
    new Date(start + 1),
    statusCode,
  ]);

test('each task stands in one list', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx);
  await running(1);
  await running(2, 'web', start + 59_000);
  await insertTask(tx, { instanceNo: 3 });
  const [cleaning, killed, both] = [await running(4), await running(5), await running(6)];
  await insertTask(tx, { instanceNo: 7, updates: [['TASK_FAILED', start]] });
  for (const { id } of [cleaning, both]) {
    await tx.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'web', 'BOUNCING', now())`,
      [id],
    );
  }
  for (const { id } of [killed, both]) {
    await tx.query(
      `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at) VALUES ($1, 'web', now(), now())`,
      [id],
    );
  }
  await insertPendingTask(tx, makePendingTask({ pendingTaskId: { ...makePendingTask().pendingTaskId } }));
  expect(await sorted('web')).toEqual({
    web: ['1 healthy', '2 notYetHealthy', '3 notYetHealthy', '1 pending', '4 cleaning', '6 cleaning', '5 killed'],
  });
});

test('with a health check its results decide, one task at a time', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { healthcheck: { uri: '/' } } });
  await checked(await running(1), 200);
  await checked(await running(2), 503);
  await running(3);
  const skipping = await running(4);
  await tx.query('UPDATE task SET skip_healthchecks = true WHERE task_id = $1', [skipping.id]);
  expect(await sorted('web')).toEqual({ web: ['1 healthy', '4 healthy', '2 notYetHealthy', '3 notYetHealthy'] });
});

test('a task that fails its liveness checks is not healthy any more', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { healthcheck: { uri: '/', liveness: {} } } });
  for (const [instanceNo, sickSince] of [
    [1, null],
    [2, new Date(start)],
  ] as const) {
    const taskId = await running(instanceNo);
    await checked(taskId, 200);
    await tx.query(
      `INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since) VALUES ($1, 'web', 1, $2, $3)`,
      [taskId.id, new Date(start), sickSince],
    );
  }
  expect(await sorted('web')).toEqual({ web: ['1 healthy', '2 notYetHealthy'] });
});

test('a task that began to run while its request skipped checks stays healthy after the skip has ended', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { healthcheck: { uri: '/' } } });
  const event = (at: number, skipHealthchecks: boolean) =>
    tx.query(
      `INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ('web', $1, 'UPDATED', $2)`,
      [new Date(at), JSON.stringify({ id: 'web', requestType: 'SERVICE', skipHealthchecks })],
    );
  await event(start - 10, true);
  await event(start + 10, false);
  await running(1, 'web', start);
  await running(2, 'web', start + 20);
  expect(await sorted('web')).toEqual({ web: ['1 healthy', '2 notYetHealthy'] });
});

test('many requests are read together, and unknown ones have no tasks', async () => {
  for (const id of ['a', 'b']) {
    await insertRequest(tx, { request: { id }, activeDeployId: 'd1' });
    await insertDeploy(tx, { deploy: { requestId: id } });
    await running(1, id);
  }
  expect(await sorted('b', 'nope', 'a')).toEqual({ a: ['1 healthy'], b: ['1 healthy'], nope: [] });
  expect(await sorted()).toEqual({});
});
