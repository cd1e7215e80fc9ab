import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { cleanupTypeInText } from '../../core/cleanup/index.js';
import type { TaskCleanup, TaskId } from '../../core/model/task.js';
import { TaskCleanups } from './task-cleanups.service.js';
import { TaskStoreModule } from './task-store.module.js';

let rooms: RoomApp;
let taskId: TaskId;
const tx = () => rooms.database.manager;
const cleanups = () => rooms.app.get(TaskCleanups, { strict: false });
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
    expect(await cleanups().create(tx(), bounce())).toBe(true);
    expect(await cleanups().create(tx(), destroy())).toBe(false);
    expect([await types(), await text()]).toEqual([['BOUNCING'], 'BOUNCING']);
  });

  test('that is saved overwrites the one that stands, and its text takes the place of the former one', async () => {
    await cleanups().create(tx(), bounce());
    await cleanups().save(tx(), destroy());
    expect([await types(), await text()]).toEqual([['USER_REQUESTED_DESTROY'], 'USER_REQUESTED_DESTROY by ann']);
    expect(await tx().query(`SELECT previous FROM task_update WHERE state = 'TASK_CLEANING'`)).toEqual([
      { previous: [{ timestamp: start + 1_000, statusMessage: 'BOUNCING' }] },
    ]);
  });

  test.each([
    { order: {}, said: 'BOUNCING' },
    { order: { user: 'ann' }, said: 'BOUNCING by ann' },
    { order: { message: 'new kernel' }, said: 'BOUNCING - new kernel' },
    { order: { user: 'ann', message: 'PAUSE, please' }, said: 'BOUNCING by ann - PAUSE, please' },
  ])('is told as "$said": type first, then user, then message', async ({ order, said }) => {
    await cleanups().create(tx(), bounce(order));
    expect(await text()).toBe(said);
    expect(cleanupTypeInText(said)).toBe('BOUNCING');
  });

  test('comes too late for a task that has ended', async () => {
    await tx().query(`UPDATE task SET ended_at = now(), state = 'TASK_LOST'`);
    expect(await cleanups().create(tx(), bounce())).toBe(false);
    await cleanups().save(tx(), destroy());
    expect([await types(), await text()]).toEqual([[], undefined]);
  });
});
