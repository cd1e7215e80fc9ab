import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { waitFor } from '../../test/support/wait-for.js';
import { CleanupModule } from '../modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../modules/tasks/cleanup/cleanup.poller.js';
import { HealthMonitor } from '../modules/tasks/health/health-monitor.service.js';
import { LivenessMonitor } from '../modules/tasks/health/liveness-monitor.service.js';
import { SickTasks } from '../modules/tasks/health/sick-tasks.service.js';
import { TaskHealthModule } from '../modules/tasks/health/task-health.module.js';

/* A whole service whose tasks are checked by a command, on simulated machines with room for two of them each. */

let world: SchedulerWorld;
afterEach(() => world.close());

/** Ids of tasks that answer that they are ill. */
const ill = new Set<string>();

async function start(machines: number, instances = 2): Promise<void> {
  ill.clear();
  world = await SchedulerWorld.start({
    machines,
    modules: [CleanupModule, TaskHealthModule],
    settings: { healthcheckIntervalSeconds: 0.02, startupIntervalSeconds: 0.02 },
    onProcess: ({ driver }) => {
      driver.answerCheck = ({ taskId }) => ({ outcome: 'ENDED', exitCode: ill.has(taskId) ? 1 : 0, output: 'said' });
    },
  });
  await world.deployed(
    { id: 'svc', requestType: 'SERVICE', instances },
    {
      resources: { cpus: 8, memoryMb: 64 },
      healthcheck: {
        type: 'COMMAND',
        command: 'check',
        liveness: { intervalSeconds: 0.02, failureThreshold: 2 },
      },
    },
  );
  await world.run(2);
  await untilHealthy();
}

/** Health is asked for in real time, all else happens in the world's. */
async function untilHealthy(): Promise<void> {
  await world.get(HealthMonitor).runOnce(world.now);
  await waitFor('health of all', async () => (await world.active('svc')).every((task) => task.healthchecksFinished));
}

async function untilSick(count: number): Promise<void> {
  await world.get(LivenessMonitor).runOnce(world.now);
  const sick = () => world.query('SELECT 1 FROM task_liveness WHERE sick_since IS NOT NULL');
  await waitFor('sickness', async () => (await sick()).length === count);
}
const decide = () => {
  world.get(SickTasks).forgetDecisions();
  return world.get(LivenessMonitor).decide(world.now);
};

/** A second with all that the leader does but the checks. */
async function second(): Promise<void> {
  await world.get(CleanupPoller).runOnce(world.now);
  await world.pass();
  await world.cluster.advance(1_000);
}
const going = async () =>
  (await world.active('svc'))
    .filter((task) => task.cleaning !== undefined || task.killed)
    .map((task) => task.taskId.id);

test('a sick task is replaced by one that is healthy first, and its end counts as a failure', async () => {
  await start(3);
  const [first] = await world.active('svc');
  ill.add(first!.taskId.id);
  await untilSick(1);
  await waitFor('the order', async () => (await decide(), (await going()).length === 1));
  for (let n = 0; n < 3; n++) await second();
  expect(await world.active('svc')).toHaveLength(3);
  expect([await going(), await world.ends('svc')]).toEqual([[first!.taskId.id], []]);
  await untilHealthy();
  for (let n = 0; n < 3; n++) await second();
  expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
  const numbers = (await world.active('svc')).map((task) => task.taskId.instanceNo);
  expect(numbers.toSorted()).toEqual([1, 2]);
  const [counts] = await world.query<{ failure_events: object[] }>('SELECT failure_events FROM deploy_statistics');
  expect(counts!.failure_events).toMatchObject([{ type: 'UNEXPECTED_EXIT', instance: first!.taskId.instanceNo }]);
});

test('a sick task makes room where there is none for two', async () => {
  await start(1);
  const [first] = await world.active('svc');
  ill.add(first!.taskId.id);
  await untilSick(1);
  await waitFor('the order', async () => (await decide(), (await going()).length === 1));
  for (let n = 0; n < 10; n++) await second();
  expect(await world.ends('svc')).toEqual([]);
  for (let n = 0; n < 10; n++) await second();
  expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
  expect(await world.active('svc')).toHaveLength(2);
});

test('of a service that is ill as a whole one task at a time is replaced, also under a new leader', async () => {
  await start(4, 4);
  for (const { taskId } of await world.active('svc')) ill.add(taskId.id);
  await untilSick(4);
  await waitFor('the order', async () => (await decide(), (await going()).length === 1));
  await world.crash();
  expect(await decide()).toBeUndefined();
  // It has asked each of them itself, and waits with the others all the same.
  await untilSick(3);
  await waitFor('a decision about the others', async () => {
    await decide();
    const waiting = await world.query<{ reason: string }>('SELECT waits_for AS reason FROM task_liveness');
    return waiting.every(({ reason }) => reason === 'LIMIT');
  });
  for (let n = 0; n < 3; n++) {
    await decide();
    await second();
  }
  expect(await going()).toHaveLength(1);
});
