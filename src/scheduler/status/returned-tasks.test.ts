import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { watchStatements } from '../../../test/support/sent-statements.js';
import type { TaskState } from '../../core/model/enums.js';
import { Database } from '../../platform/database/database.js';
import { ClusterWatch } from '../cluster/cluster-watch.service.js';
import { HistoryMover } from '../../modules/history/history-mover.service.js';
import { PendingRequestRepository } from '../../modules/tasks/pending-request.repository.js';
import { DrainService } from '../drain/drain.service.js';
import { Scheduler } from '../scheduler.service.js';
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

const away = () => world.cluster.setReachable('slave-1', false);
/** The machine is given up while its tasks run on. */
const giveUp = () => {
  away();
  return world.get(ClusterWatch).machineDown('slave-1', 'silent for long');
};
const conclude = (state: TaskState) =>
  world.get(StatusUpdates).concluded([{ taskId, slaveId: 'slave-1', state, timestamp: world.now }]);
const unreachable = () => {
  away();
  return world.get(ClusterWatch).tasksUnreachable(['slave-1']);
};
/** Brings the machine back, in the same incarnation. */
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
    { state: 'TASK_UNREACHABLE', end: unreachable },
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

describe('a run of a job whose machine was not heard meanwhile', () => {
  let runId: string;
  /** Placed on a machine that hears of it, and is not heard. */
  const placed = async (options: { arrives: boolean; requestType?: 'ON_DEMAND' | 'RUN_ONCE' | 'SCHEDULED' }) => {
    const { arrives, requestType = 'ON_DEMAND' } = options;
    world.cluster.onLaunch(() => ({ startAfter: 3_600_000 }));
    const schedule = requestType === 'SCHEDULED' ? { schedule: '0 0 1 1 *' } : {};
    const wish = requestType === 'RUN_ONCE' ? 'NEW_DEPLOY' : requestType === 'SCHEDULED' ? 'IMMEDIATE' : 'ONEOFF';
    if (!arrives) world.cluster.faults = { delayLaunch: 1, launchDelayMillis: 90_000 };
    await world.deployed(
      { id: 'job', requestType, ...schedule },
      {},
      { pendingType: wish, ...(wish !== 'NEW_DEPLOY' && { runId: 'r1' }) },
    );
    await world.get(Scheduler).runOnce(world.now);
    await world.settled();
    world.cluster.faults = {};
    const [task] = await world.active('job');
    runId = task!.taskId.id;
    world.cluster.setReachable(task!.slaveId, false);
    await world.get(ClusterWatch).tasksUnreachable([task!.slaveId]);
    return { taskId: runId, slaveId: task!.slaveId, incarnation: task!.slaveId.replace('slave', 'incarnation') };
  };
  const told = ({ slaveId, ...of }: Awaited<ReturnType<typeof placed>>, ...all: TaskState[]) =>
    world.get(ClusterWatch).statusUpdates(
      all.map((state, index) => ({
        ...of,
        slaveId,
        agentId: slaveId.replace('slave', 'agent'),
        number: 1_000 + index,
        state,
        timestamp: world.now,
      })),
    );
  const isBack = async ({ slaveId }: { slaveId: string }) => {
    world.cluster.setReachable(slaveId, true);
    await world.cluster.advance(0);
  };
  const runsOfJob = () =>
    world.query<{ task_id: string; state: string; reason: string | null; run_id: string | null }>(
      `SELECT task_id, last_task_status AS state, run_id, data #>> '{taskUpdates,-1,statusReason}' AS reason FROM task_history
         WHERE request_id = 'job'
       UNION ALL SELECT task_id, state, run_id, NULL FROM task WHERE request_id = 'job' ORDER BY task_id`,
    );

  test.each<{ updates: TaskState[]; end: string }>([
    { updates: ['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED'], end: 'TASK_FINISHED' },
    { updates: ['TASK_STARTING', 'TASK_FAILED'], end: 'TASK_FAILED' },
    { updates: ['TASK_FINISHED'], end: 'TASK_FINISHED' },
    { updates: ['TASK_LOST'], end: 'TASK_LOST' },
  ])('ends as it ended when it is told at once: $updates', async ({ updates, end }) => {
    await told(await placed({ arrives: true }), ...updates);
    expect(await runsOfJob()).toMatchObject([{ task_id: runId, state: end, run_id: 'r1' }]);
    const [row] = await world.query<{ states: string[] }>(
      `SELECT jsonb_path_query_array(data, '$.taskUpdates[*].taskState') AS states FROM task_history WHERE task_id = $1`,
      [runId],
    );
    expect(row!.states).toEqual(['TASK_LAUNCHED', ...updates]);
  });

  test('goes on from where it is, when all that is told at once is that it runs', async () => {
    await told(await placed({ arrives: true }), 'TASK_STARTING', 'TASK_RUNNING');
    expect(await world.active('job')).toMatchObject([{ state: 'TASK_RUNNING' }]);
  });

  test.each(['ON_DEMAND', 'RUN_ONCE', 'SCHEDULED'] as const)(
    'goes again once, with its run id, when its launch never came: %s',
    async (requestType) => {
      const run = await placed({ arrives: false, requestType });
      await isBack(run);
      await world.run(3);
      world.get(Reconciliation).request();
      await world.run(3);
      const [first, second, ...others] = await runsOfJob();
      expect(first).toMatchObject({ task_id: runId, state: 'TASK_DROPPED', reason: 'REASON_TASK_UNKNOWN' });
      expect(second).toMatchObject({ state: 'TASK_STARTING', run_id: first!.run_id });
      expect(others).toEqual([]);
    },
  );

  test('never starts by its first launch, which comes after it was given to another', async () => {
    const run = await placed({ arrives: false });
    await isBack(run);
    await world.run(3);
    await world.cluster.advance(90_000);
    await world.run(2);
    expect(world.cluster.starts.get(runId)).toBeUndefined();
    const [, second] = await runsOfJob();
    expect(world.cluster.starts.get(second!.task_id)).toBe(1);
  });

  test('goes on as it is, and not again, when its launch came although it was never answered', async () => {
    const run = await placed({ arrives: false });
    await world.cluster.advance(30_000);
    world.cluster.faults = { loseLaunchAnswer: 1 };
    world.cluster.setReachable(run.slaveId, true);
    await world.cluster.advance(60_000);
    await world.run(3);
    expect(await runsOfJob()).toMatchObject([{ task_id: runId, state: 'TASK_STARTING' }]);
  });

  test('waits in the live tables for as long as its machine may come back, and no longer', async () => {
    const { slaveId } = await placed({ arrives: false });
    await world.cluster.advance(48 * 3_600_000);
    await world.get(HistoryMover).move([runId]);
    expect(await runsOfJob()).toMatchObject([{ state: 'TASK_UNREACHABLE' }]);
    expect(await world.query('SELECT 1 FROM task WHERE task_id = $1', [runId])).toHaveLength(1);
    world.cluster.setReachable(slaveId, true);
    world.cluster.reincarnate(slaveId);
    await world.cluster.advance(0);
    await world.run(2);
    await world.get(HistoryMover).move([runId]);
    expect(await runsOfJob()).toMatchObject([{ task_id: runId, state: 'TASK_UNREACHABLE' }]);
    expect(await world.query('SELECT 1 FROM task WHERE task_id = $1', [runId])).toEqual([]);
  });

  test.each(['before', 'after'] as const)('goes again once when the leader dies %s it is recorded', async (when) => {
    const run = await placed({ arrives: false });
    const { driver } = world;
    const withdraw = driver.withdraw.bind(driver);
    const died = new Error('The leader is dead');
    const asked = vi.spyOn(driver, 'withdraw').mockImplementation(async (...of) => {
      const answer = await withdraw(...of);
      if (when === 'before') throw died;
      return answer;
    });
    world.cluster.setReachable(run.slaveId, true);
    await world.cluster.advance(0);
    await world
      .get(Reconciliation)
      .runWhenDue(world.now)
      .catch((cause: unknown) => expect(cause).toBe(died));
    expect(asked).toHaveBeenCalled();
    await world.crash();
    await world.run(4);
    const runs = await runsOfJob();
    expect(runs).toMatchObject([
      { task_id: runId, state: 'TASK_DROPPED' },
      { state: 'TASK_STARTING', run_id: 'r1' },
    ]);
  });
});

describe('a machine that comes back just after its time', () => {
  test('is asked what it runs before anything is placed there: nothing is restarted', async () => {
    const before = (await world.active()).map((task) => task.taskId.id).toSorted();
    world.cluster.setReachable('slave-2', false);
    await unreachable();
    await world.get(ClusterWatch).tasksUnreachable(['slave-2']);
    await world.run(2);
    // Both are shown as good machines, as they are in the moment in which they are heard again.
    expect(await world.active()).toEqual([]);
    for (const slaveId of ['slave-1', 'slave-2']) world.cluster.setReachable(slaveId, true);
    await world.cluster.advance(0);
    await world.run(4);
    expect((await world.active()).map((task) => task.taskId.id).toSorted()).toEqual(before);
    expect(world.cluster.starts.size).toBe(2);
    expect(await world.query('SELECT id FROM pending_task')).toEqual([]);
  });

  test('while requests are counted is given nothing before they are counted with what it brings back', async () => {
    const before = (await world.active()).map((task) => task.taskId.id).toSorted();
    world.cluster.setReachable('slave-2', false);
    await unreachable();
    await world.get(ClusterWatch).tasksUnreachable(['slave-2']);
    await world.run(2);
    const drain = world.get(DrainService);
    const count = drain.runOnce.bind(drain);
    vi.spyOn(drain, 'runOnce').mockImplementationOnce(async (now) => {
      const answer = await count(now);
      for (const slaveId of ['slave-1', 'slave-2']) world.cluster.setReachable(slaveId, true);
      await world.cluster.advance(0);
      await pass();
      return answer;
    });
    await world.run(3);
    expect((await world.active()).map((task) => task.taskId.id).toSorted()).toEqual(before);
    expect(world.cluster.starts.size).toBe(2);
  });

  test('keeps its tasks where its agent presents another one that runs nothing', async () => {
    await world.close();
    world = await SchedulerWorld.start({ machines: 3, machinesPerAgent: 3 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    const before = (await world.active()).map((task) => task.taskId.id).toSorted();
    away();
    await world.get(ClusterWatch).tasksUnreachable(['slave-1', 'slave-2', 'slave-3']);
    await world.run(2);
    expect(await world.active()).toEqual([]);
    await comeBack();
    await world.run(4);
    expect((await world.active()).map((task) => task.taskId.id).toSorted()).toEqual(before);
    expect(world.cluster.starts.size).toBe(2);
  });

  test('takes tasks again once it was asked, also of a leader that began meanwhile', async () => {
    world.cluster.setReachable('slave-2', false);
    await unreachable();
    await world.get(ClusterWatch).tasksUnreachable(['slave-2']);
    await world.crash();
    await world.run(2);
    expect(world.cluster.starts.size).toBe(2);
    for (const slaveId of ['slave-1', 'slave-2']) world.cluster.setReachable(slaveId, true);
    await world.cluster.advance(0);
    await world.run(2);
    await world.changeRequest('svc', { instances: 3 });
    await world.enqueue({ requestId: 'svc', pendingType: 'UPDATED_REQUEST' });
    await world.run(2);
    expect(await world.active()).toHaveLength(3);
    expect(world.cluster.starts.size).toBe(3);
  });

  test('keeps its task where the other one runs, and is not healthy yet', async () => {
    const healthcheck = JSON.stringify({ deploy: { healthcheck: { uri: '/' } } });
    await unreachable();
    await world.run(2);
    await world.query(
      `UPDATE deploy_history SET data = jsonb_set(data, '{deploy,healthcheck}', $1::jsonb #> '{deploy,healthcheck}')`,
      [healthcheck],
    );
    await comeBack();
    for (let second = 0; second < 3; second++) {
      await world.run();
      await world.killCleaned();
    }
    expect((await world.active()).map((task) => task.taskId.id)).toContain(taskId);
    expect(await world.active()).toHaveLength(2);
  });
});

describe('a machine that comes back much later', () => {
  const hour = 3_600_000;
  const bothAway = async () => {
    world.cluster.setReachable('slave-2', false);
    await unreachable();
    await world.get(ClusterWatch).tasksUnreachable(['slave-2']);
    await world.get(ClusterWatch).machineSilent('slave-1', 'silent for long');
    await world.get(ClusterWatch).machineSilent('slave-2', 'silent for long');
  };
  const bothBack = async () => {
    for (const slaveId of ['slave-1', 'slave-2']) world.cluster.setReachable(slaveId, true);
    await world.cluster.advance(0);
  };

  const moveEnded = async () => {
    const ended = await world.query<{ task_id: string }>('SELECT task_id FROM task WHERE ended_at IS NOT NULL');
    await world.get(HistoryMover).move(ended.map((row) => row.task_id));
  };

  test('within a day brings its tasks back, and they go on', async () => {
    const before = (await world.active()).map((task) => task.taskId.id).toSorted();
    await bothAway();
    await world.cluster.advance(23 * hour);
    await moveEnded();
    expect(await history()).toEqual([]);
    await bothBack();
    await moveEnded();
    await world.run(4);
    expect((await world.active()).map((task) => task.taskId.id).toSorted()).toEqual(before);
    expect(world.cluster.starts.size).toBe(2);
  });

  test.each(['this leader', 'a later leader'])(
    'after a day is rid of what runs there before %s places anything',
    async (who) => {
      const before = new Set((await world.active()).map((task) => task.taskId.id));
      await bothAway();
      await world.cluster.advance(25 * hour);
      await moveEnded();
      expect(await history()).toHaveLength(2);
      if (who === 'a later leader') await world.crash();
      const killed = vi.spyOn(world.driver, 'kill');
      const told: string[] = [];
      world.cluster.onLaunch(() => {
        told.push(...killed.mock.calls.map(([taskId]) => taskId));
        return {};
      });
      await bothBack();
      await world.run(4);
      expect(new Set(told)).toEqual(before);
      expect(await world.active()).toHaveLength(2);
    },
  );
});

test('a thousand tasks that come back are settled in a handful of transactions', async () => {
  const many = 1_000;
  world.cluster.onLaunch(() => ({ startAfter: 3_600_000 }));
  await world.deployed(
    { id: 'many', requestType: 'ON_DEMAND', instances: many },
    { resources: { cpus: 0.01, memoryMb: 1 } },
  );
  await world.db.transaction(async (tx) => {
    const entries = Array.from({ length: many }, (_, index) => {
      return {
        requestId: 'many',
        deployId: 'd1',
        timestamp: world.now + index,
        pendingType: 'ONEOFF' as const,
        runId: `r${index}`,
      };
    });
    await world.get(PendingRequestRepository).enqueueAll(tx, entries);
  });
  await world.pass();
  const tasks = await world.active('many');
  expect(tasks).toHaveLength(many);
  await world.get(StatusUpdates).concluded(
    tasks.map(({ taskId: { id }, slaveId }) => {
      return { taskId: id, slaveId, state: 'TASK_UNREACHABLE' as const, timestamp: world.now };
    }),
  );
  const transactions = vi.spyOn(world.get(Database), 'leaderTransaction');
  const updates = tasks.flatMap(({ taskId: { id }, slaveId }, index) =>
    (['TASK_STARTING', 'TASK_RUNNING'] as const).map((state, place) => ({
      agentId: 'agent-9',
      incarnation: slaveId.replace('slave', 'incarnation'),
      number: index * 2 + place + 1,
      taskId: id,
      slaveId,
      state,
      timestamp: world.now,
    })),
  );
  const statements = watchStatements();
  await world.get(ClusterWatch).statusUpdates(updates);
  const sent = statements.sent().length;
  statements.end();
  // A statement for each task would be a thousand.
  expect(sent).toBeLessThan(many / 2);
  // Four batches of 500 updates, each tried once more with the locks that it turns out to need.
  expect(transactions.mock.calls.length).toBeLessThanOrEqual(8);
  transactions.mockRestore();
  expect(new Set((await world.active('many')).map(({ state }) => state))).toEqual(new Set(['TASK_RUNNING']));
}, 60_000);
