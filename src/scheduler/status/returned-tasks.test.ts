import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { TaskState } from '../../core/model/enums.js';
import { ClusterWatch } from '../cluster/cluster-watch.service.js';
import { Reconciliation } from '../reconciliation/reconciliation.service.js';
import { StatusUpdates } from './status-updates.service.js';

let world: SchedulerWorld;
let taskId: string;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 2 });
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
  await world.run();
  taskId = (await world.active()).find(({ slaveId }) => slaveId === 'slave-1')!.taskId.id;
});
afterEach(() => world.close());

/** The machine is given up while its tasks run on. */
const giveUp = () => world.get(ClusterWatch).machineDown('slave-1', 'silent for long');
const conclude = (state: TaskState) =>
  world.get(StatusUpdates).concluded([{ taskId, slaveId: 'slave-1', state, timestamp: world.now }]);
/** And is there again, in the same incarnation. */
const comeBack = async () => {
  world.cluster.setReachable('slave-1', true);
  await world.cluster.advance(0);
};
const states = async () =>
  (await world.query<{ state: string }>('SELECT state FROM task_update WHERE task_id = $1', [taskId])).map(
    ({ state }) => state,
  );
const queued = () => world.query('SELECT pending_type, deploy_id FROM pending_request');
const history = () => world.query('SELECT task_id, last_task_status FROM task_history');
const pass = () => world.get(Reconciliation).runWhenDue(world.now);
const isLive = async () => (await world.active()).some((task) => task.taskId.id === taskId);

test('the end of a task that may come back stays live, so that there is something to go back to', async () => {
  await giveUp();
  expect(await isLive()).toBe(false);
  expect(await history()).toEqual([]);
  expect(
    await world.query('SELECT state, ended_at IS NOT NULL AS ended FROM task WHERE task_id = $1', [taskId]),
  ).toEqual([{ state: 'TASK_LOST', ended: true }]);
});

test('a task whose machine is back goes on: its end is dropped, and its request is counted again', async () => {
  await giveUp();
  await world.query('DELETE FROM pending_request');
  await comeBack();
  await pass();
  const task = (await world.active()).find((each) => each.taskId.id === taskId);
  expect(task).toMatchObject({ state: 'TASK_RUNNING', endedAt: undefined });
  expect(await states()).toEqual(['TASK_LAUNCHED', 'TASK_STARTING', 'TASK_RUNNING']);
  expect(await queued()).toEqual([{ pending_type: 'TASK_RECOVERED', deploy_id: 'd1' }]);
});

test('what the reported state said before is kept in its entry', async () => {
  await giveUp();
  await comeBack();
  await pass();
  const [update] = await world.query<{ reason: string; previous: object[] }>(
    `SELECT reason, previous FROM task_update WHERE task_id = $1 AND state = 'TASK_RUNNING'`,
    [taskId],
  );
  expect(update).toEqual({ reason: 'REASON_AGENT_REREGISTERED', previous: [{ timestamp: expect.any(Number) }] });
});

describe('where another was started in its place, two tasks of the wanted two run on', () => {
  const twoAreLeft = async () => {
    expect(await world.active()).toHaveLength(2);
    await comeBack();
    for (let second = 0; second < 5; second++) {
      await world.run();
      await world.killCleaned();
    }
    await world.cluster.advance(60_000);
    const left = await world.active();
    expect(left.map((task) => task.taskId.instanceNo).toSorted()).toEqual([1, 2]);
    expect(world.cluster.runningTasks().map((spec) => spec.taskId)).toEqual(
      expect.arrayContaining(left.map((task) => task.taskId.id)),
    );
    expect(world.cluster.runningTasks()).toHaveLength(2);
  };
  test.each([
    { state: 'TASK_LOST', end: giveUp },
    { state: 'TASK_UNREACHABLE', end: () => conclude('TASK_UNREACHABLE') },
  ])('which are those that ran meanwhile: one that was $state is killed', async ({ state, end }) => {
    await end();
    await world.run(2);
    await twoAreLeft();
    expect(await isLive()).toBe(false);
    expect(await world.ends('svc')).toEqual([state]);
  });
  test('with the one that is back, where that other does not run yet: it is surplus, and goes', async () => {
    world.cluster.onLaunch(() => ({ startAfter: 3_600_000 }));
    await giveUp();
    await world.run(2);
    await twoAreLeft();
    expect(await isLive()).toBe(true);
    expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
  });
});

test('a recovered task that ends later ends once, as anything else', async () => {
  await giveUp();
  await comeBack();
  await pass();
  world.cluster.finish(taskId, 'TASK_FAILED');
  await world.cluster.advance(0);
  expect(await history()).toEqual([{ task_id: taskId, last_task_status: 'TASK_FAILED' }]);
});

describe('a task that cannot go on is killed, with a minute to end by itself', () => {
  const killed = async () => {
    world.cluster.onLaunch(() => ({}));
    await comeBack();
    await pass();
    expect(await isLive()).toBe(false);
    await world.cluster.advance(60_000);
    expect(world.cluster.runningTasks().map((spec) => spec.taskId)).not.toContain(taskId);
  };
  test('when another deploy is active meanwhile', async () => {
    await giveUp();
    await world.query(`UPDATE request SET active_deploy_id = 'd2'`);
    await killed();
    expect(await queued()).toContainEqual({ pending_type: 'TASK_DONE', deploy_id: 'd1' });
  });
  test('when its request was paused meanwhile', async () => {
    await giveUp();
    await world.changeRequest('svc', {}, 'PAUSED');
    await killed();
  });
  test('when it had been told to go before', async () => {
    await world.query(
      `INSERT INTO task_update (task_id, state, at, message) VALUES ($1, 'TASK_CLEANING', now(), 'USER_REQUESTED')`,
      [taskId],
    );
    await giveUp();
    await killed();
  });
  test('when it is in the history already', async () => {
    await conclude('TASK_FAILED');
    expect(await history()).toEqual([{ task_id: taskId, last_task_status: 'TASK_FAILED' }]);
    world.get(Reconciliation).request();
    await killed();
  });
});

test('a task that was unreachable goes on by its own next update', async () => {
  await conclude('TASK_UNREACHABLE');
  expect([await isLive(), await history()]).toEqual([false, []]);
  const report = { agentId: 'agent-1', incarnation: 'incarnation-1', number: 99, slaveId: 'slave-1', taskId };
  await world.get(ClusterWatch).statusUpdates([{ ...report, state: 'TASK_RUNNING', timestamp: world.now }]);
  expect(await isLive()).toBe(true);
  expect(await states()).not.toContain('TASK_UNREACHABLE');
});

test('a machine that begins anew brings nothing back: its tasks are gone for good', async () => {
  await giveUp();
  world.cluster.reincarnate('slave-1');
  await world.cluster.advance(0);
  await pass();
  expect(await isLive()).toBe(false);
  expect(await states()).toContain('TASK_LOST');
});

test('a job that was run again meanwhile is not run a third time', async () => {
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'r1' });
  await world.run();
  const [first] = await world.active('job');
  await world.get(ClusterWatch).machineDown(first!.slaveId, 'silent for long');
  await world.run(2);
  world.cluster.setReachable(first!.slaveId, true);
  await world.run(3);
  const runs = await world.query(`SELECT run_id FROM task WHERE request_id = 'job'`);
  expect(runs).toEqual([{ run_id: 'r1' }, { run_id: 'r1' }]);
  expect((await world.active('job')).map((task) => task.taskId.id)).not.toContain(first!.taskId.id);
  await world.cluster.advance(60_000);
  expect(world.cluster.runningTasks().filter((spec) => spec.taskId.startsWith('job-'))).toHaveLength(1);
});

test('a single run of a deploy that another one replaced meanwhile goes on when its machine is back', async () => {
  await world.deployed({ id: 'once', requestType: 'RUN_ONCE' }, {}, { pendingType: 'NEW_DEPLOY' });
  await world.run();
  const [first] = await world.active('once');
  await world
    .get(StatusUpdates)
    .concluded([
      { taskId: first!.taskId.id, slaveId: first!.slaveId, state: 'TASK_UNREACHABLE', timestamp: world.now },
    ]);
  await world.query(`UPDATE request SET active_deploy_id = 'd2' WHERE id = 'once'`);
  const report = { agentId: 'agent-1', incarnation: 'incarnation-1', number: 99, taskId: first!.taskId.id };
  await world
    .get(ClusterWatch)
    .statusUpdates([{ ...report, slaveId: first!.slaveId, state: 'TASK_RUNNING', timestamp: world.now }]);
  expect((await world.active('once')).map((task) => task.taskId.id)).toEqual([first!.taskId.id]);
});
