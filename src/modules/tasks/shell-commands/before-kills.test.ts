import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertTask, start } from '../../../../test/support/builders.js';
import { lockAwaited } from '../../../../test/support/lock-waits.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { TaskCleanupRepository } from '../task-cleanup.repository.js';
import { TaskRepository } from '../task.repository.js';
import { BeforeKills } from './before-kills.service.js';
import { ShellCommandsModule } from './shell-commands.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [ShellCommandsModule] });
});
afterAll(() => rooms.close());
const get = <T>(type: new (...args: never[]) => T): T => rooms.app.get<T>(type as never, { strict: false });

test('a task that is ordered to go meanwhile runs no command of an order that comes too late', async () => {
  const taskId = await insertTask(rooms.database.pool, { updates: [['TASK_RUNNING', start]] });
  const cleanup = { taskId, cleanupType: 'BOUNCING', timestamp: start } as const;
  let late = Promise.resolve(new Set<string>());
  await rooms.database.pool.transaction(async (tx) => {
    await get(TaskRepository).find(tx, { taskIds: [taskId.id], lock: 'CHANGE' });
    await get(TaskCleanupRepository).create(tx, { ...cleanup, cleanupType: 'USER_REQUESTED' });
    late = rooms.database.transaction((tx) => get(BeforeKills).createAll(tx, [cleanup], { name: 'jstack' }));
    await lockAwaited(rooms.database.pool);
  });
  expect(await late).toEqual(new Set());
  expect(await rooms.database.pool.query('SELECT 1 FROM task_shell_command')).toEqual([]);
});
