import { afterEach, describe, expect, test } from 'vitest';
import { SchedulerWorld, type WorldOptions } from '../../test/support/scheduler-world.js';
import { HistoryModule } from '../modules/history/history.module.js';
import { HistoryPoller } from '../modules/history/history-mover.service.js';
import { Clock } from '../platform/clock.js';
import { PlacementWriter } from './placement/placement-writer.service.js';

let world: SchedulerWorld;
const start = async (options?: WorldOptions) => (world = await SchedulerWorld.start(options));
afterEach(() => world.close());

const service = { id: 'svc', requestType: 'SERVICE' as const };
const started = () => [...world.cluster.starts.values()];

describe('a leader that dies', () => {
  test('before the commit: nothing is left, and it is decided again', async () => {
    await start();
    await world.deployed(service);
    const writer = world.get(PlacementWriter);
    const write = writer.write.bind(writer);
    writer.write = async (...parameters) => {
      await write(...parameters);
      throw new Error('killed before the commit');
    };
    // A launch that cannot be written is set aside by this leader, in its memory.
    await world.pass();
    expect(await world.active()).toEqual([]);
    await world.crash();
    await world.run(2);
    expect(await world.active()).toHaveLength(1);
    expect(started()).toEqual([1]);
  });

  test('between commit and send: the next one sends it, same id, same machine', async () => {
    await start({ machines: 3 });
    await world.deployed(service);
    world.driver.launch = () => Promise.reject(new Error('killed before it was sent'));
    await world.pass();
    const [before] = await world.active();
    expect(started()).toEqual([]);
    await world.crash();
    await world.run(2);
    expect(await world.active()).toEqual([
      expect.objectContaining({ taskId: before!.taskId, slaveId: before!.slaveId, state: 'TASK_RUNNING' }),
    ]);
    expect(started()).toEqual([1]);
  });

  test('between start and answer: it is sent again and runs already', async () => {
    await start({ faults: { loseLaunchAnswer: 1 } });
    await world.deployed(service);
    await world.pass();
    expect(started()).toEqual([1]);
    world.cluster.faults = {};
    await world.crash();
    await world.run(2);
    expect((await world.active())[0]).toMatchObject({
      state: 'TASK_RUNNING',
      answeredAt: expect.any(Number) as number,
    });
    expect(started()).toEqual([1]);
  });

  test('between the end of a task and its update: the update is repeated and applied once', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 5_000 }));
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run();
    world.cluster.setReachable('slave-1', false);
    await world.cluster.advance(10_000);
    expect(await world.active()).toHaveLength(1);
    await world.crash();
    world.cluster.setReachable('slave-1', true);
    await world.run(2);
    expect(await world.ends('job')).toEqual(['TASK_FINISHED']);
    expect(await world.query('SELECT num_tasks FROM deploy_statistics')).toEqual([{ num_tasks: 1 }]);
  });

  test('with updates that were stored but never acknowledged: they change nothing the second time', async () => {
    await start({ faults: { duplicateUpdates: 1 } });
    world.cluster.onLaunch(() => ({ runFor: 100, exit: 'TASK_FAILED' }));
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run(2);
    expect(await world.query('SELECT num_tasks, num_failures FROM deploy_statistics')).toEqual([
      { num_tasks: 1, num_failures: 1 },
    ]);
  });

  test('with work in the queue: it is done by the next one', async () => {
    await start();
    await world.deployed(service, {}, { pendingType: 'TASK_DONE' });
    await world.crash();
    await world.run();
    expect(await world.active()).toHaveLength(1);
  });

  test('with nothing in the queue although tasks are missing: the next one looks', async () => {
    await start();
    await world.deployed({ ...service, instances: 2 });
    await world.run();
    await world.query(`DELETE FROM task WHERE instance_no = 1`);
    await world.crash();
    await world.run(3);
    expect((await world.active()).map((task) => task.taskId.instanceNo).toSorted()).toEqual([1, 2]);
    expect(world.cluster.runningTasks()).toHaveLength(2);
  });
});

test('a new leader leaves planned runs of jobs as they are', async () => {
  await start({ startAt: Date.parse('2026-01-05T12:00:30Z') });
  await world.deployed({ id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0 * * * * ?' });
  await world.pass();
  const planned = await world.query('SELECT id FROM pending_task');
  await world.crash();
  expect(await world.query('SELECT 1 FROM pending_request')).toEqual([]);
  await world.pass();
  expect(await world.query('SELECT id FROM pending_task')).toEqual(planned);
});

test('a run whose id its machine knows from another launch is placed anew, and runs', async () => {
  await start();
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' });
  // What no row tells of any more: the machine had that task.
  const send = world.driver.launch.bind(world.driver);
  let former: string | undefined;
  world.driver.launch = async (batch, epoch) => {
    if (former === undefined) {
      former = batch[0]!.taskId;
      await send([{ ...batch[0]!, launchId: 'former' }], epoch);
    }
    return send(batch, epoch);
  };
  await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'wanted' });
  await world.run(4);
  expect(world.cluster.starts.size).toBe(2);
  const [task, ...others] = await world.active();
  expect([task?.runId, task?.state, others]).toEqual(['wanted', 'TASK_RUNNING', []]);
  expect(task!.taskId.id).not.toBe(former);
});

describe('after a leader whose clock was ten minutes ahead', () => {
  const minute = 60_000;
  const startAt = Date.parse('2026-01-05T12:00:30Z');
  const ahead = () => (world.get(Clock).now = () => world.now + 10 * minute);

  test('the next run of a schedule is its next hit again, and comes neither before that nor twice', async () => {
    await start({ startAt });
    await world.deployed({ id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0 * * * * ?' });
    ahead();
    await world.scheduler.runOnce(world.now + 10 * minute);
    await world.crash();
    await world.pass();
    const planned = () => world.query<{ at: Date }>('SELECT next_run_at AS at FROM pending_task');
    expect(await planned()).toEqual([{ at: new Date(startAt + minute / 2) }]);
    await world.run(29);
    expect(started()).toEqual([]);
    await world.run(3);
    expect(started()).toEqual([1]);
    await world.crash();
    await world.run(20);
    expect(started()).toEqual([1]);
  });

  test('a run that waits for nothing is started at once, and one that was asked for later at its time', async () => {
    await start({ startAt });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' });
    ahead();
    const asked = world.now + 10 * minute;
    await world.query(`UPDATE slave SET state = 'FROZEN'`);
    const run = { requestId: 'job', pendingType: 'ONEOFF' as const, timestamp: asked };
    await world.enqueue({ ...run, runId: 'now' });
    await world.enqueue({ ...run, runId: 'later', runAt: asked + minute });
    await world.scheduler.runOnce(asked);
    await world.query(`UPDATE slave SET state = 'ACTIVE'`);
    await world.crash();
    await world.run(2);
    expect((await world.active()).map(({ runId }) => runId)).toEqual(['now']);
  });
});

describe('a leader that was overtaken without noticing', () => {
  test('writes nothing and launches nothing', async () => {
    await start();
    const former = await world.overtake();
    await world.deployed(service);
    await expect(former.scheduler.runOnce(world.now)).rejects.toThrow('does not lead');
    expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
    expect(former.leadership.current()).toBeUndefined();
    await world.run();
    expect(await world.active()).toHaveLength(1);
  });

  test('cannot start what it had committed but not sent', async () => {
    await start({ faults: { delayLaunch: 1, launchDelayMillis: 5_000 } });
    await world.deployed(service);
    await world.pass();
    world.cluster.faults = {};
    await world.overtake();
    await world.run(10);
    expect(await world.active()).toHaveLength(1);
    expect(started()).toEqual([1]);
  });
});

describe('the id of a task that has ended is not given again', () => {
  const job = { id: 'job', requestType: 'ON_DEMAND' as const };
  /** A run at that time by the clock, and its end. */
  const runAt = async (time: number, runId: string) => {
    world.get(Clock).now = () => time;
    await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId, timestamp: time });
    for (let pass = 0; pass < 2; pass++) await world.scheduler.runOnce(time);
    await world.dispatch.runOnce(time);
    await world.settled();
    for (const { taskId } of world.cluster.runningTasks()) world.cluster.finish(taskId, 'TASK_FINISHED');
    await world.cluster.advance(1_000);
  };

  test.each([
    ['by the leader that gave it, after the clock was set back', false, () => Promise.resolve()],
    ['by the next leader, whose clock is behind', false, () => world.crash()],
    ['by the next leader, when its task is in the history already', true, () => world.crash()],
  ])('%s', async (_name, moved, before) => {
    await start({ modules: [HistoryModule] });
    await world.deployed(job);
    const time = world.now + 600_000;
    await runAt(time, 'first');
    if (moved) await world.get(HistoryPoller).runOnce();
    // Longer than a leader remembers its own ids.
    await runAt(time + 90_000, 'in between');
    await before();
    await runAt(time, 'second');
    expect(await world.ends('job')).toEqual(['TASK_FINISHED', 'TASK_FINISHED', 'TASK_FINISHED']);
    expect(started()).toEqual([1, 1, 1]);
  });
});
