import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { PriorityKillsPoller } from '../../modules/priority/priority-freeze.poller.js';
import { PriorityModule } from '../../modules/priority/priority.module.js';
import { PriorityService } from '../../modules/priority/priority.service.js';
import { PendingTaskRepository } from '../../modules/tasks/pending-task.repository.js';
import { PlacementSwitches } from './placement-switches.service.js';

/* Every task below a freeze that kills tasks is held back or killed, whenever the freeze begins. */

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ modules: [PriorityModule] });
  await world.deployed({ id: 'low', requestType: 'SERVICE', taskPriorityLevel: 0.1 });
  await world.deployed({ id: 'high', requestType: 'SERVICE', taskPriorityLevel: 0.9 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world.close();
});

const freeze = () =>
  world
    .get(PriorityService)
    .freeze({ minimumPriorityLevel: 0.5, killTasks: true }, { id: 'me', email: 'me@example.org' });
const killPass = () => world.get(PriorityKillsPoller).runOnce(world.now);
const placed = async () => (await world.active()).map(({ taskId }) => taskId.requestId).sort();
const killed = () => world.query('SELECT request_id, cleanup_type FROM task_cleanup');

test('a freeze that begins between the decision and its transaction holds the task back', async () => {
  const switches = world.get(PlacementSwitches);
  vi.spyOn(switches, 'now').mockImplementationOnce(async () => {
    const read = await switches.now();
    await freeze();
    await killPass();
    return read;
  });
  await world.pass();
  await killPass();
  expect([await placed(), await killed()]).toEqual([['high'], []]);
  expect(await world.query('SELECT reason FROM waiting_reason')).toEqual([]);
  await world.run();
  expect(await placed()).toEqual(['high']);
  expect(await world.query('SELECT reason FROM waiting_reason')).toEqual([{ reason: 'PRIORITY_FREEZE' }]);
});

test('a freeze that begins within the transaction of a placement kills its task', async () => {
  const pending = world.get(PendingTaskRepository);
  let kills = Promise.resolve();
  let areOver = false;
  vi.spyOn(pending, 'take').mockImplementationOnce(async (...given) => {
    await freeze();
    kills = killPass().finally(() => (areOver = true));
    await lockAwaited(world, () => areOver);
    return pending.take(...given);
  });
  await world.pass();
  await kills;
  expect([await placed(), await killed()]).toEqual([
    ['high', 'low'],
    [{ request_id: 'low', cleanup_type: 'PRIORITY_KILL' }],
  ]);
});
