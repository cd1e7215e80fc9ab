import { afterEach, describe, expect, test } from 'vitest';
import { startTestApp } from '../../../test/support/test-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { SchedulerWorld, type WorldOptions } from '../../../test/support/scheduler-world.js';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { silentAfterMillis } from '../../core/machines/silence.js';
import type { Slave } from '../../core/model/machine.js';
import { HistoryMover } from '../../modules/history/history-mover.service.js';
import { MachineChanges } from '../../modules/slaves/machine-changes.service.js';
import { MachineReads } from '../../modules/slaves/machine-reads.service.js';
import { builtInCaller } from '../../platform/http/caller.js';
import { UnaskedMachines } from '../memory/unasked-machines.js';
import { SlaveReconciliation } from './slave-reconciliation.service.js';

const minute = 60_000;

let world: SchedulerWorld;
let close = async (): Promise<void> => undefined;
const start = async (options: WorldOptions = {}) => {
  world = await SchedulerWorld.start(options);
  close = () => world.close();
  await world.cluster.advance(0);
};
afterEach(() => close());

const compare = () => world.get(SlaveReconciliation).runOnce(world.now);
const stateOf = async (id: string) => {
  const reads = world.get(MachineReads);
  const all = [...(await reads.slaves()), ...(await reads.racks())];
  return all.find((machine) => machine.id === id)?.currentState.state;
};
const setState = (id: string, state: string) => world.query('UPDATE slave SET state = $2 WHERE id = $1', [id, state]);
/** Machines vanish while no instance leads. */
const takeOverWithout = async (...slaveIds: string[]) => {
  for (const slaveId of slaveIds) world.cluster.removeMachine(slaveId);
  await world.crash();
};
/** As a driver that hears of machines from their agents only, each of its own. */
const hearsFromAgents = (missing: (machine: MachineSnapshot) => boolean) => {
  const { driver } = world;
  const machines = driver.machines.bind(driver);
  Object.assign(driver, { listsEveryMachine: undefined, machines: () => machines().filter((one) => !missing(one)) });
};

describe('when a leader begins', () => {
  test('nothing is missing that the cluster lists', async () => {
    await start({ machines: 3 });
    await compare();
    await world.crash();
    await compare();
    for (const id of ['slave-1', 'slave-2', 'slave-3', 'DEFAULT']) expect(await stateOf(id)).toBe('ACTIVE');
    expect(await world.get(MachineReads).history('SLAVE', 'slave-1')).toHaveLength(1);
  });

  test('a list of all that comes late is compared when it has come', async () => {
    await start({ machines: 2 });
    await takeOverWithout('slave-2');
    const { driver } = world;
    const machines = driver.machines.bind(driver);
    Object.assign(driver, { listsEveryMachine: false, machines: () => [] });
    expect(await compare()).toBe(world.now + 2_000);
    expect([await stateOf('slave-1'), await stateOf('slave-2')]).toEqual(['ACTIVE', 'ACTIVE']);
    Object.assign(driver, { listsEveryMachine: true, machines });
    await compare();
    expect([await stateOf('slave-1'), await stateOf('slave-2')]).toEqual(['ACTIVE', 'MISSING_ON_STARTUP']);
  });

  test('an ACTIVE slave that is not listed is MISSING_ON_STARTUP, and so is its rack when none of it is listed', async () => {
    await start({ machines: 2 });
    world.cluster.addMachine({ slaveId: 's3', rackId: 'far' });
    await world.cluster.advance(0);
    await takeOverWithout('slave-2', 's3');
    await compare();
    expect(await stateOf('slave-1')).toBe('ACTIVE');
    expect(await stateOf('slave-2')).toBe('MISSING_ON_STARTUP');
    expect(await stateOf('s3')).toBe('MISSING_ON_STARTUP');
    expect(await stateOf('DEFAULT')).toBe('ACTIVE');
    expect(await stateOf('far')).toBe('MISSING_ON_STARTUP');
  });

  test.each([
    ['DECOMMISSIONED', 'MISSING_ON_STARTUP'],
    ['FROZEN', 'FROZEN'],
    ['STARTING_DECOMMISSION', 'STARTING_DECOMMISSION'],
    ['DECOMMISSIONING', 'DECOMMISSIONING'],
    ['DEAD', 'DEAD'],
  ])('a %s slave that is not listed is %s', async (before, after) => {
    await start({ machines: 2 });
    await setState('slave-2', before);
    await takeOverWithout('slave-2');
    await compare();
    expect(await stateOf('slave-2')).toBe(after);
  });

  test('one that is back is ACTIVE again', async () => {
    await start({ machines: 2 });
    await takeOverWithout('slave-2');
    await compare();
    world.cluster.addMachine({ slaveId: 'slave-2' });
    await world.cluster.advance(0);
    expect(await stateOf('slave-2')).toBe('ACTIVE');
  });

  test('tasks of a machine that vanished while no instance led are lost, and replaced elsewhere', async () => {
    await start({ machines: 2 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    await takeOverWithout('slave-2');
    await compare();
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
    await world.run();
    expect((await world.active()).map((task) => [task.slaveId, task.state])).toEqual([
      ['slave-1', 'TASK_RUNNING'],
      ['slave-1', 'TASK_RUNNING'],
    ]);
  });

  test('an agent that does not answer is no missing machine until it has had its time, and its tasks stay even then', async () => {
    await start({ machines: 2, settings: { reconcileSlavesEveryMinutes: 0 } });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    world.cluster.setReachable('slave-2', false);
    await world.crash();
    hearsFromAgents((machine) => machine.slaveId === 'slave-2');
    const hasTimeUntil = world.now + 10 * minute;
    // Nothing is missed while an agent that may answer has not.
    expect(await compare()).toBe(world.now + 2_000);
    await world.cluster.advance(silentAfterMillis);
    expect(await compare()).toBe(hasTimeUntil);
    await world.cluster.advance(10 * minute - silentAfterMillis - 1);
    await compare();
    expect(await stateOf('slave-2')).toBe('ACTIVE');
    await world.cluster.advance(1);
    expect(await compare()).toBeUndefined();
    expect(await stateOf('slave-2')).toBe('MISSING_ON_STARTUP');
    expect(await world.active()).toHaveLength(2);
  });

  test('a machine that its answering agent does not present any more is missing at once', async () => {
    await start({ machines: 2, machinesPerAgent: 2 });
    await world.crash();
    hearsFromAgents((machine) => machine.slaveId === 'slave-2');
    await compare();
    expect(await stateOf('slave-2')).toBe('MISSING_ON_STARTUP');
  });
});

describe('every hour', () => {
  const nextHour = async () => {
    await world.cluster.advance(60 * minute);
    await compare();
  };

  test('ACTIVE slaves and racks that are not listed are DEAD', async () => {
    await start({ machines: 2 });
    world.cluster.addMachine({ slaveId: 's3', rackId: 'far' });
    await world.cluster.advance(0);
    await compare();
    world.cluster.agents.delete('agent-3');
    // The first hour is that of silent agents.
    await nextHour();
    await nextHour();
    expect([await stateOf('s3'), await stateOf('far')]).toEqual(['DEAD', 'DEAD']);
    expect([await stateOf('slave-1'), await stateOf('DEFAULT')]).toEqual(['ACTIVE', 'ACTIVE']);
  });

  test.each(['FROZEN', 'DECOMMISSIONED', 'DECOMMISSIONING'])('a %s one is left alone', async (state) => {
    await start({ machines: 2 });
    await compare();
    await setState('slave-2', state);
    world.cluster.agents.delete('agent-2');
    await nextHour();
    await nextHour();
    expect(await stateOf('slave-2')).toBe(state);
  });

  test('what has long been gone is removed, but not before', async () => {
    await start({ machines: 2 });
    await compare();
    world.cluster.removeMachine('slave-2');
    await world.cluster.advance(0);
    expect(await stateOf('slave-2')).toBe('DEAD');
    await nextHour();
    await world.cluster.advance(166 * 60 * minute);
    await compare();
    expect(await stateOf('slave-2')).toBe('DEAD');
    await nextHour();
    await world.cluster.advance(1);
    await nextHour();
    expect(await stateOf('slave-2')).toBeUndefined();
  });

  test('a machine that took tasks with it is to be asked if it comes back, until its record is removed', async () => {
    await start({ machines: 2 });
    await compare();
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    world.cluster.removeMachine('slave-2');
    await world.cluster.advance(0);
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
    await nextHour();
    await nextHour();
    const toAsk = () => [...world.get(UnaskedMachines).toAsk()];
    expect(toAsk()).toEqual(['slave-2']);
    await world.get(MachineChanges).remove('SLAVE', 'slave-2', builtInCaller);
    await nextHour();
    // Its task has a row.
    expect(toAsk()).toEqual(['slave-2']);
    const ended = await world.query<{ task_id: string }>('SELECT task_id FROM task WHERE ended_at IS NOT NULL');
    await world.get(HistoryMover).move(ended.map((row) => row.task_id));
    await nextHour();
    expect(toAsk()).toEqual([]);
  });

  test('resources that changed unheard are refreshed', async () => {
    await start({ machines: 1 });
    await compare();
    await world.query(`UPDATE slave SET resources = '{"cpus": 1}', attributes = '{"old": "yes"}'`);
    await nextHour();
    expect(await world.get(MachineReads).slave('slave-1')).toMatchObject({
      resources: { cpus: 16, mem: 65_536, disk: 1_000_000, ports: '[31000-31999]' },
      attributes: {},
    });
  });
});

describe('a record that is removed while the machine lives', () => {
  const remove = (kind: 'SLAVE' | 'RACK', id: string) => world.get(MachineChanges).remove(kind, id, builtInCaller);

  test.each(['SLAVE', 'RACK'] as const)('is back within a pass: %s', async (kind) => {
    await start({ machines: 2 });
    await compare();
    const id = kind === 'SLAVE' ? 'slave-1' : 'DEFAULT';
    await world.cluster.advance(5);
    await remove(kind, id);
    expect(await stateOf(id)).toBeUndefined();
    await compare();
    expect(await stateOf(id)).toBe('ACTIVE');
    expect(await world.get(MachineReads).history(kind, id)).toEqual([
      { objectId: id, state: 'ACTIVE', timestamp: world.now },
    ]);
  });

  test('and takes tasks again', async () => {
    await start();
    await compare();
    await remove('SLAVE', 'slave-1');
    await compare();
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run();
    expect((await world.active()).map((task) => task.state)).toEqual(['TASK_RUNNING']);
  });
});

test('in the whole application: removed by a call, back by itself', async () => {
  const whole = await startTestApp();
  close = whole.close;
  const slaves = async () => (await (await fetch(`${whole.url}/api/slaves`)).json()) as Slave[];
  await waitFor('the slave', async () => (await slaves()).length === 1);
  const [before] = await slaves();
  const removed = await fetch(`${whole.url}/api/slaves/slave/${before!.id}`, { method: 'DELETE' });
  expect(removed.status).toBe(200);
  await waitFor('the slave to be back', async () => {
    const [after] = await slaves();
    return after !== undefined && after.firstSeenAt > before!.firstSeenAt;
  });
});

test('a leader that is none any more changes nothing', async () => {
  await start({ machines: 2 });
  const former = world.get(SlaveReconciliation);
  await world.overtake();
  world.cluster.removeMachine('slave-2');
  await expect(former.runOnce(world.now)).rejects.toThrow(/does not lead/);
  expect(await stateOf('slave-2')).toBe('ACTIVE');
});
