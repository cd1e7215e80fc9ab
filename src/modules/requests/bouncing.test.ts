import { afterEach, describe, expect, test } from 'vitest';
import type { TaskScript } from '../../../test/support/simulated-cluster/script.js';
import { Bounces } from './actions/bounces.service.js';
import { Pauses } from './actions/pauses.service.js';
import { Scaling } from './actions/scaling.service.js';
import { ExpiringRemovals } from './expiring/expiring-removals.service.js';
import type { LiveTask } from '../tasks/task.repository.js';
import { TaskKills } from '../tasks/task-kills.service.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { ann, Life } from '../../../test/support/life.js';

/* Bounces from the order to the last old task, with the whole scheduler on a simulated cluster. */

let life: Life;
/** Ids of the tasks that stood before the bounce. */
let old: string[];
/** Behaviour of new tasks. */
let script: TaskScript;
afterEach(() => life.close());

/** A service with healthy tasks. */
async function serving(instances = 3, first: TaskScript[] = []): Promise<void> {
  script = {};
  life = await Life.begin({ modules: [TasksModule] });
  life.world.cluster.onLaunch(() => first.pop() ?? script);
  await life.save('web', { instances });
  await life.deploy('web', 'd1');
  await life.run(8);
  old = (await life.world.active('web')).map(({ taskId }) => taskId.id);
  expect(old).toHaveLength(instances);
}
const bounce = (asked = {}) => life.get(Bounces).bounce('web', asked, ann);
const tasks = () => life.world.active('web');
const isOld = ({ taskId }: LiveTask) => old.includes(taskId.id);
const isHealthy = ({ killed, runningAt }: LiveTask) =>
  !killed && runningAt !== undefined && runningAt + 5_000 <= life.world.now;
const isBouncing = async () => (await life.world.query('SELECT bouncing FROM request'))[0]!['bouncing'];
const expiring = async () => (await life.world.query('SELECT kind FROM expiring_action')).map(({ kind }) => kind);
/** Looks in every quarter of a second: how many old and new ones there are, and how many of all are healthy. */
async function watch(seconds: number): Promise<{ old: number; young: number; healthy: number }[]> {
  const seen: { old: number; young: number; healthy: number }[] = [];
  await life.run(seconds, 250, async () => {
    const all = await tasks();
    const alive = all.filter((task) => !task.killed);
    seen.push({
      old: alive.filter(isOld).length,
      young: alive.filter((task) => !isOld(task)).length,
      healthy: all.filter(isHealthy).length,
    });
  });
  return seen;
}

describe('a bounce of all at once', () => {
  test('starts a full set of new tasks, and ends the old ones together when all of them are healthy', async () => {
    await serving();
    await bounce({ message: 'new certificates', actionId: 'a1' });
    const seen = await watch(10);
    expect(new Set(seen.map((count) => count.old))).toEqual(new Set([3, 0]));
    expect(Math.max(...seen.map((count) => count.young))).toBe(3);
    expect(Math.min(...seen.map((count) => count.healthy))).toBe(3);
    const told = await life.world.query(
      `SELECT DISTINCT update ->> 'statusMessage' AS message FROM task_history, jsonb_array_elements(data -> 'taskUpdates') AS update
       WHERE update ->> 'taskState' = 'TASK_CLEANING'`,
    );
    expect(told).toEqual([{ message: 'BOUNCING by ann - new certificates' }]);
    expect([await isBouncing(), await expiring()]).toEqual([false, []]);
  });

  test('one new task that is not healthy keeps all old ones', async () => {
    await serving();
    await bounce();
    await life.run(2);
    const [young] = (await tasks()).filter((task) => !isOld(task));
    script = { runFor: 10, exit: 'TASK_FAILED' };
    life.world.cluster.finish(young!.taskId.id, 'TASK_FAILED');
    await life.run(8);
    expect((await tasks()).filter(isOld)).toHaveLength(3);
    expect(await isBouncing()).toBe(true);
  });

  test('holds the lock until the last task that waited for it has ended', async () => {
    // One of them takes its time to stop.
    await serving(2, [{ stopAfter: 15_000 }]);
    await bounce();
    await life.until('the first one has ended', async () => (await tasks()).filter(isOld).length === 1);
    await life.run(3);
    expect((await tasks()).filter(isOld)).toHaveLength(1);
    expect([await isBouncing(), await expiring()]).toEqual([true, ['BOUNCE']]);
    await expect(bounce()).rejects.toThrow(/already bouncing/);
    await life.until('the last one has ended', async () => (await tasks()).filter(isOld).length === 0);
    await life.run(1);
    expect([await isBouncing(), await expiring()]).toEqual([false, []]);
    await bounce();
  });
});

describe('an incremental bounce', () => {
  test('ends one old task for each new one that is healthy', async () => {
    await serving();
    // Each new one takes longer to start than the one before.
    let launches = 0;
    life.world.cluster.onLaunch(() => ({ startAfter: 2_000 * ++launches }));
    await bounce({ incremental: true });
    const seen = await watch(16);
    expect([...new Set(seen.map((count) => count.old))]).toEqual([3, 2, 1, 0]);
    expect(Math.min(...seen.map((count) => count.healthy))).toBe(3);
    expect(await isBouncing()).toBe(false);
  });
});

describe('a bounce that takes too long', () => {
  test('is given up: old tasks that wait stay, and new ones that are too many go', async () => {
    await serving();
    script = { startAfter: 1_000_000 };
    await bounce({ durationMillis: 20_000, actionId: 'a1' });
    await life.run(19);
    expect(await tasks()).toHaveLength(6);
    await life.until('the new ones are gone', async () => (await tasks()).length === 3);
    expect((await tasks()).map(({ taskId }) => taskId.instanceNo).toSorted()).toEqual([1, 2, 3]);
    expect((await tasks()).filter((task) => task.cleaning)).toEqual([]);
    expect([await isBouncing(), await expiring()]).toEqual([false, []]);
    expect(await life.events('web')).toEqual(['BOUNCED', 'CREATED']);
  });

  test('goes on when its time limit is removed', async () => {
    await serving(1);
    script = { startAfter: 10_000 };
    await bounce({ durationMillis: 5_000 });
    await life.get(ExpiringRemovals).remove('web', 'BOUNCE');
    await life.until('it is over', async () => !(await isBouncing()));
    expect((await tasks()).filter(isOld)).toEqual([]);
  });

  test('is given up at its time also by another leader', async () => {
    await serving(1);
    script = { startAfter: 1_000_000 };
    await bounce({ durationMillis: 20_000 });
    await life.run(5);
    await life.world.crash();
    await life.run(20);
    expect([await isBouncing(), await expiring()]).toEqual([false, []]);
  });
});

test('a pause ends the bounce under way', async () => {
  await serving(1);
  script = { startAfter: 1_000_000 };
  await bounce();
  await life.run(2);
  await life.get(Pauses).pause('web', {}, ann);
  expect([await isBouncing(), await expiring()]).toEqual([false, []]);
  await life.run(2);
  expect(await tasks()).toEqual([]);
});

test.each([
  { name: 'up', instances: 4 },
  { name: 'down', instances: 2 },
])('a scale $name with a bounce replaces all tasks one by one, in the new number', async ({ instances }) => {
  await serving();
  await life.get(Scaling).scale('web', { instances, bounce: true }, false, ann);
  const seen = await watch(20);
  expect((await tasks()).map(({ taskId }) => taskId.instanceNo).toSorted()).toEqual(
    Array.from({ length: instances }, (_, index) => index + 1),
  );
  expect((await tasks()).filter(isOld)).toEqual([]);
  expect(Math.min(...seen.map((count) => count.healthy))).toBeGreaterThanOrEqual(Math.min(3, instances));
  expect(await isBouncing()).toBe(false);
});

test('a task that is bounced alone stays until its replacement, under the same number, is healthy', async () => {
  await serving();
  const [first] = await tasks();
  await life.get(TaskKills).kill(first!.taskId.id, { waitForReplacementTask: true, message: 'slow' }, ann);
  const seen = await watch(10);
  expect(Math.min(...seen.map((count) => count.healthy))).toBe(3);
  const after = await tasks();
  expect(after.filter(isOld)).toHaveLength(2);
  expect(after.map(({ taskId }) => taskId.instanceNo).toSorted()).toEqual([1, 2, 3]);
  expect(await isBouncing()).toBe(false);
});
