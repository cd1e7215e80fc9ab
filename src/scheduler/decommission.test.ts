import { afterEach, describe, expect, test } from 'vitest';
import { SchedulerWorld, type WorldOptions } from '../../test/support/scheduler-world.js';
import type { MachineChangeRequest, MachineKind, OperatorState } from '../core/model/machine.js';
import type { Request } from '../core/model/request.js';
import { CleanupModule } from '../modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../modules/tasks/cleanup/cleanup.poller.js';
import { MachineChanges } from '../modules/slaves/machine-changes.service.js';
import { MachineReads } from '../modules/slaves/machine-reads.service.js';
import { MachinesPoller } from '../modules/slaves/machines.poller.js';

const ann = { id: 'ann', email: 'ann@example.com' };

let world: SchedulerWorld;
const start = async (options: WorldOptions = {}) => {
  world = await SchedulerWorld.start({ machines: 2, ...options, modules: [CleanupModule] });
  await world.cluster.advance(0);
};
afterEach(() => world.close());

/** A second with everything that a leader does in it. */
const second = async () => {
  await world.get(MachinesPoller).expire(world.now);
  await world.get(MachinesPoller).decommission(world.now);
  await world.get(CleanupPoller).runOnce(world.now);
  await world.pass();
  await world.cluster.advance(1_000);
};
const seconds = async (count: number) => {
  for (let n = 0; n < count; n++) await second();
};
const until = async (what: string, holds: () => Promise<boolean>, most = 60) => {
  for (let n = 0; n < most; n++) {
    if (await holds()) return;
    await second();
  }
  throw new Error(`Not within ${most} virtual seconds: ${what}`);
};
const change = (kind: MachineKind, id: string, state: OperatorState, asked: MachineChangeRequest = {}) =>
  world.get(MachineChanges).change(kind, id, state, asked, ann);
const decommission = (id: string, asked: MachineChangeRequest = {}) =>
  change('SLAVE', id, 'STARTING_DECOMMISSION', asked);
const stateOf = async (id: string) => {
  const reads = world.get(MachineReads);
  const all = [...(await reads.slaves()), ...(await reads.racks())];
  return all.find((machine) => machine.id === id)?.currentState.state;
};
const isIn = async (id: string, state: string) => (await stateOf(id)) === state;
const places = async () => (await world.active()).map((task) => task.slaveId);
/** A service whose tasks stand one on each slave, in the order of slave ids. */
const spread = async (instances = 2, request: Partial<Request> = {}) => {
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances, ...request });
  await seconds(2);
};

describe('a slave that is decommissioned', () => {
  test('keeps its tasks until their replacements run healthy elsewhere, then is DECOMMISSIONED', async () => {
    await start({ machines: 3 });
    await spread(3);
    expect((await places()).toSorted()).toEqual(['slave-1', 'slave-2', 'slave-3']);
    await decommission('slave-1', { message: 'new disk' });
    await second();
    expect(await stateOf('slave-1')).toBe('DECOMMISSIONING');
    expect(await world.active()).toHaveLength(4);
    expect(await world.ends('svc')).toEqual([]);

    await until('the old task has gone', () => isIn('slave-1', 'DECOMMISSIONED'));
    expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
    expect(await places()).not.toContain('slave-1');
    const numbers = (await world.active()).map((task) => task.taskId.instanceNo);
    expect(numbers.toSorted()).toEqual([1, 2, 3]);
  });

  test('message and user of the change go with it, state by state', async () => {
    await start();
    await spread();
    await decommission('slave-1', { message: 'new disk' });
    await until('the end', () => isIn('slave-1', 'DECOMMISSIONED'));
    const history = await world.get(MachineReads).history('SLAVE', 'slave-1');
    const by = { user: 'ann@example.com', message: 'new disk' };
    expect(history).toMatchObject([
      { state: 'DECOMMISSIONED', ...by },
      { state: 'DECOMMISSIONING', ...by },
      { state: 'STARTING_DECOMMISSION', ...by },
      { state: 'ACTIVE' },
    ]);
  });

  test('takes no new tasks, and neither does a FROZEN one, whose tasks stay', async () => {
    await start({ machines: 3 });
    await spread(3);
    await change('SLAVE', 'slave-2', 'FROZEN');
    await decommission('slave-1');
    await until('the end', () => isIn('slave-1', 'DECOMMISSIONED'));
    expect((await places()).toSorted()).toEqual(['slave-2', 'slave-3', 'slave-3']);
  });

  test('waits while there is no room for replacements', async () => {
    await start({ machines: 0 });
    for (const slaveId of ['s1', 's2']) world.cluster.addMachine({ slaveId, cpus: 1 });
    await world.cluster.advance(0);
    await spread();
    await decommission('s1');
    await seconds(20);
    expect(await stateOf('s1')).toBe('DECOMMISSIONING');
    expect(await places()).toHaveLength(2);
    world.cluster.addMachine({ slaveId: 's3', cpus: 1 });
    await until('the end', () => isIn('s1', 'DECOMMISSIONED'));
    expect((await places()).toSorted()).toEqual(['s2', 's3']);
  });

  test('leaves a run to finish, and is done when it has', async () => {
    await start({ machines: 1 });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'r1' });
    await seconds(1);
    const [run] = await world.active();
    await decommission('slave-1');
    await seconds(60);
    expect(await stateOf('slave-1')).toBe('DECOMMISSIONING');
    expect(await world.query('SELECT * FROM pending_task')).toEqual([]);
    world.cluster.finish(run!.taskId.id);
    await until('the end', () => isIn('slave-1', 'DECOMMISSIONED'));
    expect(await world.ends('job')).toEqual(['TASK_FINISHED']);
  });

  test.each(['ON_DEMAND', 'RUN_ONCE'] as const)('kills a run of %s that goes on for too long', async (requestType) => {
    await start({ machines: 1, settings: { killNonLongRunningTasksInCleanupAfterSeconds: 30 } });
    const pendingType = requestType === 'ON_DEMAND' ? 'ONEOFF' : 'NEW_DEPLOY';
    await world.deployed({ id: 'job', requestType }, {}, { pendingType });
    await seconds(1);
    await decommission('slave-1');
    await seconds(30);
    expect(await world.ends('job')).toEqual([]);
    await until('the end', () => isIn('slave-1', 'DECOMMISSIONED'));
    expect(await world.ends('job')).toEqual(['TASK_KILLED']);
    expect(await world.query('SELECT * FROM pending_task')).toEqual([]);
  });

  test('its tasks are told to go again when another order for them was taken back', async () => {
    await start({ machines: 1 });
    await spread(1);
    const [task] = await world.active();
    await world.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, action_id) VALUES ($1, 'svc', 'BOUNCING', now(), 'a1')`,
      [task!.taskId.id],
    );
    await decommission('slave-1');
    await second();
    await world.query(`DELETE FROM task_cleanup`);
    await second();
    expect((await world.active()).map((one) => one.cleaning)).toEqual(['DECOMISSIONING']);
  });
});

describe('a decommission that takes too long', () => {
  const change = {
    durationMillis: 30_000,
    revertToState: 'DECOMMISSIONED',
    killTasksOnDecommissionTimeout: true,
  } as const;

  test('kills what is left, over every other order', async () => {
    await start({ machines: 1 });
    await spread(1);
    await decommission('slave-1', change);
    await seconds(30);
    expect(await stateOf('slave-1')).toBe('DECOMMISSIONING');
    expect(await world.active()).toHaveLength(1);
    await world.cluster.advance(1);
    await world.get(MachinesPoller).expire(world.now);
    expect(await stateOf('slave-1')).toBe('DECOMMISSIONED');
    const [told] = await world.query<{ message: string; before: string }>(
      `SELECT message, previous -> 0 ->> 'statusMessage' AS before FROM task_update WHERE state = 'TASK_CLEANING'`,
    );
    expect(told!.before).toMatch(/^DECOMISSIONING by ann@example.com/);
    expect(told!.message).toMatch(/^DECOMMISSION_TIMEOUT by ann@example.com/);
    await until('it has ended', async () => (await world.ends('svc')).length > 0);
    expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
  });

  test('ends at its time also when another leader has taken over', async () => {
    await start({ machines: 1 });
    await spread(1);
    await decommission('slave-1', change);
    await seconds(10);
    await world.crash();
    await seconds(25);
    expect(await stateOf('slave-1')).toBe('DECOMMISSIONED');
  });

  test('has nothing to end when all tasks are gone before', async () => {
    await start();
    await spread();
    await decommission('slave-1', change);
    await until('the end', () => isIn('slave-1', 'DECOMMISSIONED'));
    expect(await world.get(MachineChanges).lapsing('SLAVE')).toEqual([]);
    await seconds(40);
    expect(await world.get(MachineReads).history('SLAVE', 'slave-1')).toHaveLength(4);
  });
});

describe('a decommission that is taken back', () => {
  test.each(['activated', 'removed'])('lets the tasks stay, and replacements that are too many go: %s', async (way) => {
    await start();
    await spread();
    await decommission('slave-1');
    await world.get(MachinesPoller).decommission(world.now);
    await world.pass();
    expect(await world.active()).toHaveLength(3);
    if (way === 'activated') await change('SLAVE', 'slave-1', 'ACTIVE');
    else await world.get(MachineChanges).remove('SLAVE', 'slave-1', ann);
    await until('two tasks are left', async () => (await world.active()).length === 2);
    expect((await world.active()).filter((task) => task.cleaning)).toEqual([]);
    expect((await world.active()).map((task) => task.taskId.instanceNo).toSorted()).toEqual([1, 2]);
    const shown = await world.query(
      `SELECT 1 FROM task_update JOIN task USING (task_id) WHERE task_update.state = 'TASK_CLEANING' AND ended_at IS NULL`,
    );
    expect(shown).toEqual([]);
  });

  test('plans no replacements any more', async () => {
    await start({ machines: 1 });
    await spread(1);
    await decommission('slave-1');
    await seconds(2);
    expect(await world.query('SELECT * FROM pending_task')).toHaveLength(1);
    await change('SLAVE', 'slave-1', 'ACTIVE');
    await seconds(2);
    expect(await world.query('SELECT * FROM pending_task')).toEqual([]);
    expect((await world.active()).map((task) => task.state)).toEqual(['TASK_RUNNING']);
  });
});

describe('a rack that is decommissioned', () => {
  const startRacks = async () => {
    await start({ machines: 0 });
    for (const [slaveId, rackId] of [
      ['s1', 'r-1'],
      ['s2', 'r-1'],
      ['s3', 'r-2'],
    ] as const) {
      world.cluster.addMachine({ slaveId, rackId });
    }
    await world.cluster.advance(0);
    await spread(3);
  };

  test('sends the tasks of all its slaves elsewhere, and takes no new ones', async () => {
    await startRacks();
    await change('RACK', 'r-1', 'STARTING_DECOMMISSION', { message: 'power' });
    await until('the end', () => isIn('r-1', 'DECOMMISSIONED'));
    expect(await places()).toEqual(['s3', 's3', 's3']);
    expect([await stateOf('s1'), await stateOf('r-2')]).toEqual(['ACTIVE', 'ACTIVE']);
  });

  test('frozen, it keeps what runs and takes nothing new, until the freeze lapses', async () => {
    await startRacks();
    await change('RACK', 'r-2', 'FROZEN', { durationMillis: 20_000, revertToState: 'ACTIVE' });
    await world.deployed({ id: 'other', requestType: 'SERVICE', instances: 4 });
    await seconds(3);
    expect((await world.active('svc')).map((task) => task.slaveId)).toContain('s3');
    expect((await world.active('other')).map((task) => task.slaveId)).not.toContain('s3');
    await until('the freeze lapses', () => isIn('r-2', 'ACTIVE'));
  });

  test('and comes to its time-out, it kills what is left', async () => {
    await startRacks();
    await change('SLAVE', 's3', 'FROZEN');
    await change('RACK', 'r-1', 'STARTING_DECOMMISSION', {
      durationMillis: 10_000,
      revertToState: 'DECOMMISSIONED',
      killTasksOnDecommissionTimeout: true,
    });
    await seconds(13);
    expect(await stateOf('r-1')).toBe('DECOMMISSIONED');
    expect(await places()).toEqual(['s3']);
  });
});

test('a slave that appears on an inactive host is decommissioned without ever taking a task', async () => {
  await start({ machines: 0 });
  await world.query(`INSERT INTO inactive_host (host, marked_at) VALUES ('old', $1)`, [new Date(world.now)]);
  world.cluster.addMachine({ slaveId: 's1', hostname: 'old' });
  await world.cluster.advance(0);
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await seconds(3);
  expect(await stateOf('s1')).toBe('DECOMMISSIONED');
  expect(await places()).toEqual([]);
});
