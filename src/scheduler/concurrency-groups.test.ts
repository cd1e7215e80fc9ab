import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { ClusterWatch } from './cluster/cluster-watch.service.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import { ExplainService } from './explain/explain.service.js';

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 3 });
});
afterEach(() => world.close());

const group = { name: 'db', limit: 2 };
const job = (id: string, runs: number, limit = group.limit) =>
  world
    .deployed(
      { id, requestType: 'ON_DEMAND', concurrencyGroup: { ...group, limit } },
      {},
      { pendingType: 'ONEOFF', runId: '0' },
    )
    .then(async () => {
      for (let run = 1; run < runs; run++)
        await world.enqueue({ requestId: id, pendingType: 'ONEOFF', runId: String(run), timestamp: world.now + run });
    });
const activeIds = async () => (await world.active()).map(({ taskId }) => taskId.requestId);

test('runs of several requests never exceed the limit, whichever leader there is, and all have their turn', async () => {
  world.cluster.onLaunch(() => ({ runFor: 2_500 }));
  for (const id of ['a', 'b', 'c']) await job(id, 3);
  for (let second = 0; second < 60; second++) {
    await world.run();
    expect((await world.active()).length).toBeLessThanOrEqual(2);
    // The machines say the same.
    expect(world.cluster.runningTasks().length).toBeLessThanOrEqual(2);
    if (second % 7 === 3) await world.crash();
    if (second === 10) await (await world.overtake()).close();
  }
  for (const id of ['a', 'b', 'c']) expect(await world.ends(id)).toEqual(Array(3).fill('TASK_FINISHED'));
});

test('a limit that is lowered, or given by another request, holds from then on', async () => {
  await job('a', 4, 3);
  await world.run(2);
  expect(await activeIds()).toHaveLength(3);
  await job('b', 0, 1);
  world.cluster.finish((await world.active())[0]!.taskId.id);
  await world.run(2);
  // Active runs go on; none begins before there is but one.
  expect(await activeIds()).toHaveLength(2);
  await world.changeRequest('b', { concurrencyGroup: { name: 'db', limit: 9 } });
  await world.run(2);
  expect(await activeIds()).toHaveLength(3);
});

test('a run that comes back with its machine has no place that another has taken', async () => {
  await world.deployed(
    {
      id: 'a',
      requestType: 'ON_DEMAND',
      concurrencyGroup: { ...group, limit: 1 },
      retry: { attempts: 1, onLost: false },
    },
    {},
    { pendingType: 'ONEOFF', runId: '0' },
  );
  await world.run();
  const [first] = await world.active();
  world.cluster.setReachable(first!.slaveId, false);
  await world.get(ClusterWatch).machineDown(first!.slaveId, 'silent for long');
  await job('b', 1, 1);
  await world.run(2);
  expect(await activeIds()).toEqual(['b']);
  world.cluster.setReachable(first!.slaveId, true);
  await world.cluster.advance(0);
  await world.run(3);
  expect(await activeIds()).toEqual(['b']);
  expect(world.cluster.runningTasks().map(({ requestId }) => requestId)).toEqual(['b']);
});

test('a run that waits is told who holds its group', async () => {
  await job('a', 2);
  await world.run(2);
  await job('b', 1);
  await world.run();
  const { pendingTasks, heldBy } = await world.get(ExplainService).request('b', builtInUser);
  expect(pendingTasks).toMatchObject([{ reason: 'CONCURRENCY_GROUP' }]);
  expect(heldBy).toEqual((await world.active('a')).map(({ taskId }) => taskId.id).toSorted());
  expect(await world.query('SELECT reason, message FROM v_waiting_task')).toEqual([
    {
      reason: 'CONCURRENCY_GROUP',
      message: `As many runs of its concurrency group are active as may be: 'db' has 2 of at most 2`,
    },
  ]);
});
