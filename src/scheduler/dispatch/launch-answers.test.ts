import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { TaskCleanupRepository } from '../../modules/tasks/task-cleanup.repository.js';
import { TaskLaunchRepository } from '../../modules/tasks/task-launch.repository.js';
import { TaskRepository } from '../../modules/tasks/task.repository.js';
import { LaunchAnswers } from './launch-answers.service.js';

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ faults: { loseLaunch: 1, loseKill: 1 } });
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
  await world.pass();
});
afterEach(() => world.close());

test.each([
  { by: 'of a user, who locks the task', locks: true },
  { by: 'of the leader, who does not', locks: false },
])('an order to go that is committed while a launch is taken back counts: $by', async ({ locks }) => {
  const [spec] = await world.get(TaskLaunchRepository).unanswered(world.db.pool);
  const [task] = await world.active();
  const { taskId } = task!;
  let recorded = Promise.resolve();
  await world.db.pool.transaction(async (tx) => {
    if (locks) await world.get(TaskRepository).find(tx, { taskIds: [taskId.id], lock: 'CHANGE' });
    const cleanup = { taskId, cleanupType: 'USER_REQUESTED', timestamp: world.now } as const;
    await world.get(TaskCleanupRepository).create(tx, cleanup);
    const answer = { taskId: taskId.id, outcome: 'PORT_IN_USE', port: 31_000 } as const;
    recorded = world.get(LaunchAnswers).record([answer], new Map([[taskId.id, spec!]]));
    await lockAwaited(world.db.pool);
  });
  await recorded;
  expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
  expect(await world.ends('job')).toEqual(['TASK_KILLED']);
});
