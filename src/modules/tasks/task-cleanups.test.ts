import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertTask, start, type TaskRow } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { cleanupTypeInText } from '../../core/cleanup/index.js';
import type { TaskState } from '../../core/model/enums.js';
import type { TaskCleanup, TaskId } from '../../core/model/task.js';
import { newestStateSql } from '../history/task-search.repository.js';
import { TaskCleanupRepository } from './task-cleanup.repository.js';
import { TaskRepository } from './task.repository.js';
import { TaskStoreModule } from './task-store.module.js';
import { watchStatements } from '../../../test/support/sent-statements.js';
import type { Transaction } from '../../platform/database/transaction.js';

let rooms: RoomApp;
let taskId: TaskId;
const tx = () => rooms.database.pool;
const cleanups = () => rooms.app.get(TaskCleanupRepository, { strict: false });
beforeAll(async () => {
  rooms = await startRooms({ modules: [TaskStoreModule] });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  await tx().query('TRUNCATE task, task_launch, task_update, task_cleanup');
  taskId = await insertTask(tx(), { updates: [['TASK_RUNNING', start]] });
});

const bounce = (changes: Partial<TaskCleanup> = {}): TaskCleanup => ({
  taskId,
  cleanupType: 'BOUNCING',
  timestamp: start + 1_000,
  ...changes,
});
const destroy = (): TaskCleanup =>
  bounce({ cleanupType: 'USER_REQUESTED_DESTROY', timestamp: start + 2_000, user: 'ann' });
const types = async () => (await cleanups().ofRequest(tx(), 'web')).map(({ cleanupType }) => cleanupType);
const text = async (): Promise<string> =>
  (await tx().query(`SELECT message FROM task_update WHERE state = 'TASK_CLEANING'`))[0]?.message;

describe('an order that a task has to go', () => {
  test('is created only where there is none: the first one wins, and its text stays', async () => {
    expect(await rooms.database.transaction((tx) => cleanups().create(tx, bounce()))).toBe(true);
    expect(await rooms.database.transaction((tx) => cleanups().create(tx, destroy()))).toBe(false);
    expect([await types(), await text()]).toEqual([['BOUNCING'], 'BOUNCING']);
  });

  test('that is saved overwrites the one that stands, and its text takes the place of the former one', async () => {
    await rooms.database.transaction((tx) => cleanups().create(tx, bounce()));
    await rooms.database.transaction((tx) => cleanups().save(tx, destroy()));
    expect([await types(), await text()]).toEqual([['USER_REQUESTED_DESTROY'], 'USER_REQUESTED_DESTROY by ann']);
    expect(await tx().query(`SELECT previous FROM task_update WHERE state = 'TASK_CLEANING'`)).toEqual([
      { previous: [{ timestamp: start + 1_000, statusMessage: 'BOUNCING', cleanupType: 'BOUNCING' }] },
    ]);
  });

  test('shows clients what it said before, but not its type as it is stored', async () => {
    await rooms.database.transaction((tx) => cleanups().create(tx, bounce()));
    await rooms.database.transaction((tx) => cleanups().save(tx, destroy()));
    const updates = await rooms.app.get(TaskRepository, { strict: false }).updates(tx(), [taskId]);
    expect(updates.get(taskId.id)?.at(-1)?.previous).toEqual([
      { taskId, taskState: 'TASK_CLEANING', timestamp: start + 1_000, statusMessage: 'BOUNCING', previous: [] },
    ]);
  });

  test.each([
    { order: {}, said: 'BOUNCING' },
    { order: { user: 'ann' }, said: 'BOUNCING by ann' },
    { order: { message: 'new kernel' }, said: 'BOUNCING - new kernel' },
    { order: { user: 'ann', message: 'PAUSE, please' }, said: 'BOUNCING by ann - PAUSE, please' },
  ])('is told as "$said": type first, then user, then message', async ({ order, said }) => {
    await rooms.database.transaction((tx) => cleanups().create(tx, bounce(order)));
    expect(await text()).toBe(said);
    expect(cleanupTypeInText(said)).toBe('BOUNCING');
  });

  test('comes too late for a task that has ended', async () => {
    await tx().query(`UPDATE task SET ended_at = now(), state = 'TASK_LOST'`);
    expect(await rooms.database.transaction((tx) => cleanups().create(tx, bounce()))).toBe(false);
    await rooms.database.transaction((tx) => cleanups().save(tx, destroy()));
    expect([await types(), await text()]).toEqual([[], undefined]);
  });
});

describe('the updates of a task', () => {
  test.each<{ name: string; updates: NonNullable<TaskRow['updates']>; last: TaskState }>([
    {
      name: 'of one millisecond, in the order of its life',
      updates: [
        ['TASK_RUNNING', start],
        ['TASK_STARTING', start],
      ],
      last: 'TASK_RUNNING',
    },
    {
      name: 'the end last, even where the clocks of machines disagree',
      updates: [
        ['TASK_KILLED', start + 1_000],
        ['TASK_CLEANING', start + 2_000],
      ],
      last: 'TASK_KILLED',
    },
  ])('$name', async ({ updates, last }) => {
    const id = await insertTask(tx(), { updates, instanceNo: 2 });
    const found = (await rooms.app.get(TaskRepository, { strict: false }).updates(tx(), [id])).get(id.id);
    expect(found?.at(-1)?.taskState).toBe(last);
    const newest = `SELECT ${newestStateSql} AS state FROM task t WHERE task_id = $1`;
    expect(await tx().query(newest, [id.id])).toEqual([{ state: last }]);
  });
});

describe('orders for many tasks at once', () => {
  const more = async (count: number): Promise<TaskCleanup[]> => {
    const orders: TaskCleanup[] = [];
    for (let instanceNo = 2; instanceNo < count + 2; instanceNo++) {
      orders.push(bounce({ taskId: await insertTask(tx(), { instanceNo, updates: [['TASK_RUNNING', start]] }) }));
    }
    return orders;
  };
  /** SQL statements that `work` makes. */
  const statements = (work: (tx: Transaction) => Promise<unknown>): Promise<number> =>
    rooms.database.transaction(async (tx) => {
      const watched = watchStatements();
      await work(tx);
      const { length } = watched.sent();
      watched.end();
      return length;
    });

  test('are written by as many statements as one of them, also with a webhook that listens', async () => {
    await tx().query(`INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://w', 'TASK', now())`);
    const orders = await more(21);
    // Once in a while it is counted how many updates wait for the webhook: here it has been.
    await rooms.database.transaction((tx) => cleanups().createAll(tx, orders.slice(0, 1)));
    const one = await statements((tx) => cleanups().createAll(tx, orders.slice(1, 2)));
    const others = await statements((tx) => cleanups().createAll(tx, orders.slice(2)));
    expect(one).toBeGreaterThan(0);
    expect(others).toBe(one);
    const [queued] = await tx().query('SELECT count(*)::int AS updates FROM webhook_update');
    expect(queued).toEqual({ updates: 21 });
    await tx().query('DELETE FROM webhook');
  });

  test('are each told as if they had come alone; tasks that have one keep theirs', async () => {
    const orders = await more(2);
    await rooms.database.transaction((tx) => cleanups().create(tx, destroy()));
    const created = await rooms.database.transaction((tx) =>
      cleanups().createAll(tx, [bounce(), ...orders.map((order) => ({ ...order, user: 'eve' }))]),
    );
    expect([...created].toSorted()).toEqual(orders.map((order) => order.taskId.id).toSorted());
    expect(await types()).toEqual(['USER_REQUESTED_DESTROY', 'BOUNCING', 'BOUNCING']);
    await rooms.database.transaction((tx) => cleanups().saveAll(tx, [bounce({ cleanupType: 'PAUSE' }), ...orders]));
    expect(await types()).toEqual(['PAUSE', 'BOUNCING', 'BOUNCING']);
    const texts = await tx().query(`SELECT message FROM task_update WHERE state = 'TASK_CLEANING' ORDER BY task_id`);
    expect(texts).toEqual([{ message: 'PAUSE' }, { message: 'BOUNCING' }, { message: 'BOUNCING' }]);
  });

  test('are removed unless they were overwritten since they were read', async () => {
    const orders = await more(2);
    await rooms.database.transaction((tx) => cleanups().createAll(tx, orders));
    await rooms.database.transaction((tx) =>
      cleanups().save(tx, { ...orders[0]!, cleanupType: 'PAUSE', timestamp: start + 5_000 }),
    );
    await cleanups().remove(tx(), orders);
    expect(await types()).toEqual(['PAUSE']);
  });
});
