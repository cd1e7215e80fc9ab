import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { TaskState } from '../../core/model/enums.js';
import { StatusUpdates } from './status-updates.service.js';

let world: SchedulerWorld;
let taskId: string;
const start = async (requestType: 'SERVICE' | 'RUN_ONCE') => {
  await world.deployed({ id: 'svc', requestType });
  await world.pass();
  taskId = (await world.active())[0]!.taskId.id;
  await world.query('DELETE FROM task_launch');
};
beforeEach(async () => {
  world = await SchedulerWorld.start();
  world.cluster.onLaunch(() => ({ startAfter: 1_000_000 }));
});
afterEach(() => world.close());

const report = (state: TaskState) =>
  world.get(StatusUpdates).reported([
    {
      agentId: 'agent-1',
      incarnation: 'incarnation-1',
      number: 2,
      taskId,
      slaveId: 'slave-1',
      state,
      timestamp: world.now,
    },
  ]);
const left = async () => [
  await world.query('SELECT 1 FROM task'),
  await world.query('SELECT 1 FROM task_update'),
  await world.query('SELECT 1 FROM task_history'),
];
const queued = () => world.query('SELECT pending_type FROM pending_request');

test('a task without its data that ends is not active any more, and its request is looked at', async () => {
  await start('SERVICE');
  await report('TASK_FAILED');
  expect(await left()).toEqual([[], [], []]);
  expect(await queued()).toEqual([{ pending_type: 'TASK_DONE' }]);
});

test('one that is alive is killed besides', async () => {
  await start('SERVICE');
  await report('TASK_RUNNING');
  expect(await left()).toEqual([[], [], []]);
  expect(await queued()).toEqual([{ pending_type: 'TASK_DONE' }]);
  await world.cluster.advance(60_000);
  expect(world.cluster.runningTasks()).toEqual([]);
});

test('a job that is not repeated is not started once more', async () => {
  await start('RUN_ONCE');
  await report('TASK_FINISHED');
  expect([await left(), await queued()]).toEqual([[[], [], []], []]);
});
