import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertRequest, insertTask, start, type TaskRow } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Wake } from '../../platform/wake/wake.js';
import { HistoryModule } from './history.module.js';
import { HistoryPoller } from './history-mover.service.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule], settings: { historyPollerConcurrency: 2 } });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE task, task_launch, task_update, task_history, request'));

const ended: TaskRow = { updates: [['TASK_FINISHED', start + 1]] };
const insert = (row: TaskRow) => insertTask(rooms.database.pool, row);
const counts = async (): Promise<[live: number, history: number]> => {
  const [found] = await rooms.database.pool.query(
    'SELECT (SELECT count(*)::int FROM task) AS live, (SELECT count(*)::int FROM task_history) AS history',
  );
  return [found.live, found.history];
};

test('a pass moves everything that may move, however much there is', async () => {
  await rooms.database.transaction(async (tx) => {
    for (let instanceNo = 1; instanceNo <= 1_100; instanceNo++) await insertTask(tx, { ...ended, instanceNo });
  });
  await insert({ instanceNo: 5_000, updates: [['TASK_RUNNING', start]] });
  await rooms.app.get(HistoryPoller).runOnce();
  expect(await counts()).toEqual([1, 1_100]);
});

test('what a pending deploy held back moves when it has ended', async () => {
  await insertRequest(rooms.database.pool, { pendingDeployId: 'd1' });
  await insert(ended);
  const poller = rooms.app.get(HistoryPoller);
  await poller.runOnce();
  expect(await counts()).toEqual([1, 0]);
  await rooms.database.pool.query('UPDATE request SET pending_deploy_id = NULL');
  await poller.runOnce();
  expect(await counts()).toEqual([0, 1]);
});

test('a wake makes a pass soon, and a second one right after it is not lost', async () => {
  const wake = rooms.app.get(Wake);
  for (const instanceNo of [1, 2]) {
    await insert({ ...ended, instanceNo });
    wake.signal('history');
    await waitFor('the move', async () => (await counts())[0] === 0);
  }
  expect(await counts()).toEqual([0, 2]);
});

test('a task that cannot move stays live, and keeps no other from moving', async () => {
  const { pool } = rooms.database;
  for (let instanceNo = 1; instanceNo <= 5; instanceNo++) await insert({ ...ended, instanceNo });
  await pool.query('ALTER TABLE task_history ADD CONSTRAINT refused CHECK (instance_no <> 3)');
  await rooms.app.get(HistoryPoller).runOnce();
  expect(await counts()).toEqual([1, 4]);
  await pool.query('ALTER TABLE task_history DROP CONSTRAINT refused');
  await rooms.app.get(HistoryPoller).runOnce();
  expect(await counts()).toEqual([0, 5]);
});
