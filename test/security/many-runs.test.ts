import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../support/scheduler-world.js';

let world: SchedulerWorld;
afterEach(() => world.close());

test('thousands of runs of one request that wait keep the run of another waiting for one pass at most', async () => {
  world = await SchedulerWorld.start({ machines: 2 });
  // No machine has so much.
  const resources = { cpus: 10_000, memoryMb: 1, numPorts: 0, diskMb: 0 };
  await world.deployed({ id: 'noisy', requestType: 'ON_DEMAND' }, { resources });
  for (let sent = 0; sent < 2_000; sent += 100) {
    // Ten in a millisecond.
    const runs = Array.from({ length: 100 }, (_, index) => ({
      runId: `run-${sent + index}`,
      timestamp: world.now + Math.floor((sent + index) / 10),
    }));
    await Promise.all(runs.map((run) => world.enqueue({ requestId: 'noisy', pendingType: 'ONEOFF', ...run })));
  }
  await world.pass();
  await world.deployed({ id: 'quiet', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'mine' });
  await world.pass();
  expect((await world.active()).map(({ taskId }) => taskId.requestId)).toEqual(['quiet']);
  const [waiting] = await world.query(`SELECT count(*)::int AS runs FROM pending_task WHERE request_id = 'noisy'`);
  expect(waiting!['runs']).toBeGreaterThanOrEqual(2_000);
}, 60_000);
