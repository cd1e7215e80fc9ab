import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { waitFor } from '../../test/support/wait-for.js';
import { RequestRepository, type StoredRequest } from '../modules/requests/request.repository.js';

const callers = 6;
/** Passes in which what waits has to be done, while calls never cease. */
const fewPasses = 3;

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start();
});
afterEach(() => world.close());

/** Calls that follow each other on the row of a request without a pause, until the test has what it waits for. */
function calling(requestId: string, change: (stored: StoredRequest) => StoredRequest | undefined) {
  const requests = world.get(RequestRepository);
  let stopped = false;
  let done = 0;
  const one = async (): Promise<void> => {
    while (!stopped) {
      await world.db.transaction(async (tx) => {
        const stored = (await requests.lock(tx, requestId))!;
        const changed = change(stored);
        if (changed) await requests.save(tx, changed);
        await tx.query('SELECT pg_sleep(0.01)');
      });
      done++;
    }
  };
  const all = Promise.all(Array.from({ length: callers }, one));
  return {
    begun: () => waitFor('the calls to follow each other', () => done > callers),
    stop: async () => {
      stopped = true;
      await all;
    },
  };
}

const passesUntil = async (isDone: () => Promise<boolean>): Promise<number> => {
  for (let passes = 1; passes <= fewPasses; passes++) {
    await world.pass();
    if (await isDone()) return passes;
  }
  return Number.POSITIVE_INFINITY;
};

test.each<{ calls: string; change: (stored: StoredRequest) => StoredRequest | undefined }>([
  { calls: 'look at it under its lock', change: () => undefined },
  { calls: 'change it', change: (stored) => ({ ...stored, changedAt: stored.changedAt + 1 }) },
])('the tasks of a request are placed in a few passes while calls that $calls never cease', async ({ change }) => {
  await world.deployed({ id: 'hot', requestType: 'SERVICE', instances: 3 });
  await world.deployed({ id: 'other', requestType: 'SERVICE', instances: 1 });
  const calls = calling('hot', change);
  try {
    await calls.begun();
    expect(await passesUntil(async () => (await world.active('hot')).length === 3)).toBeLessThanOrEqual(fewPasses);
    expect(await world.active('other')).toHaveLength(1);
  } finally {
    await calls.stop();
  }
  expect([...world.cluster.starts.values()]).toEqual([1, 1, 1, 1]);
});

test('what is placed under the lock is what the request is by then', async () => {
  await world.deployed({ id: 'hot', requestType: 'SERVICE', instances: 1 });
  let marks = 0;
  const calls = calling('hot', (stored) => ({
    ...stored,
    request: { ...stored.request, group: `mark-${++marks}` },
  }));
  try {
    await calls.begun();
    expect(await passesUntil(async () => (await world.active('hot')).length === 1)).toBeLessThanOrEqual(fewPasses);
  } finally {
    await calls.stop();
  }
  // The version that the row had when its task came to be is the one in the task's document.
  const [launch] = await world.query<{ mark: string }>(`SELECT document->'request'->>'group' AS mark FROM task_launch`);
  expect(Number(launch!.mark.replace('mark-', ''))).toBeGreaterThan(1);
});

test('statuses of its tasks are applied while calls never cease', async () => {
  world.cluster.onLaunch(() => ({ runFor: 1_000, exit: 'TASK_FINISHED' }));
  await world.deployed({ id: 'hot', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'a' });
  const calls = calling('hot', (stored) => ({ ...stored, changedAt: stored.changedAt + 1 }));
  try {
    await calls.begun();
    for (let passes = 0; passes < fewPasses; passes++) {
      await world.pass();
      await world.cluster.advance(1_000);
    }
    expect(await world.ends('hot')).toEqual(['TASK_FINISHED']);
  } finally {
    await calls.stop();
  }
});
