import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { SimulatedCluster } from '../../../test/support/simulated-cluster/simulated-cluster.js';
import { startTestApp } from '../../../test/support/test-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { silentAfterMillis } from '../../core/machines/silence.js';
import { MachineReads } from '../../modules/slaves/machine-reads.service.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { SilentAgents } from './silent-agents.service.js';
import { SlaveReconciliation } from './slave-reconciliation.service.js';

let close = async (): Promise<void> => undefined;
afterEach(() => close());

const slaves = 24;
const perAgent = 12;

/** Two agents with twelve machines each, of which the driver hears from the agents only, and a service on all of them. */
async function start(): Promise<SchedulerWorld> {
  const world = await SchedulerWorld.start({
    machines: slaves,
    machinesPerAgent: perAgent,
    listsEveryMachine: false,
    onProcess: (process) => onProcess(process),
  });
  close = () => world.close();
  await world.cluster.advance(0);
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: slaves, slavePlacement: 'SEPARATE' });
  await world.run(2);
  expect(await world.active('svc')).toHaveLength(slaves);
  return world;
}
let onProcess: (process: SchedulerWorld) => void = () => undefined;

/** All that concludes something from machines that are not there. */
async function judge(world: SchedulerWorld): Promise<void> {
  await world.get(SlaveReconciliation).runOnce(world.now);
  await world.get(SilentAgents).runOnce();
}
const states = async (world: SchedulerWorld) =>
  new Set((await world.get(MachineReads).slaves()).map(({ currentState }) => currentState.state));

/** Calls `then` after each call of the leader that takes it out of the process while it hears of machines. */
function afterEachCall(world: SchedulerWorld, then: (call: number) => Promise<void>): void {
  let calls = 0;
  let isBusy = false;
  const around = (on: object, name: string) => {
    const real = (Reflect.get(on, name) as (...args: unknown[]) => unknown).bind(on);
    Object.assign(on, {
      [name]: async (...args: unknown[]) => {
        const answer = await real(...args);
        if (isBusy) return answer;
        isBusy = true;
        await then(++calls).finally(() => (isBusy = false));
        return answer;
      },
    });
  };
  around(world.get(Database), 'leaderTransaction');
  around(world.get(MachineTaskRepository), 'activeOfOtherIncarnations');
  around(world.get(MachineTaskRepository), 'endedIn');
  around(world.get(SlaveRepository), 'present');
}

test('at a takeover no live machine is taken for gone, whatever is judged in the middle of what agents say', async () => {
  onProcess = () => undefined;
  const world = await start();
  let looks = 0;
  onProcess = (process) =>
    afterEachCall(process, async () => {
      looks += 1;
      await judge(process);
    });
  await world.crash();
  await judge(world);
  expect(looks).toBeGreaterThan(6);
  expect(await states(world)).toEqual(new Set(['ACTIVE']));
  await world.run(2);
  expect(await world.ends('svc')).toEqual([]);
  expect(Math.max(...world.cluster.starts.values())).toBe(1);
});

test('a leader that dies after any of these calls leaves its successor nothing that is not so', async () => {
  onProcess = () => undefined;
  const world = await start();
  for (let killAt = 1; ; killAt++) {
    let [died, isArmed] = [false, true];
    onProcess = (process) =>
      afterEachCall(process, async (call) => {
        if (call !== killAt || !isArmed) return;
        isArmed = false;
        died = true;
        await judge(process);
        (process.get(Leadership) as { stepDown: (reason: string) => void }).stepDown('it dies');
        throw new Error('it dies');
      });
    await world.crash().catch(() => undefined);
    isArmed = false;
    onProcess = () => undefined;
    if (!died) break;
    expect(killAt).toBeLessThan(50);
    await world.crash();
    await judge(world);
    expect(await states(world), `after call ${killAt}`).toEqual(new Set(['ACTIVE']));
    expect(await world.ends('svc'), `after call ${killAt}`).toEqual([]);
  }
  await world.run(2);
  expect(await world.ends('svc')).toEqual([]);
  expect(Math.max(...world.cluster.starts.values())).toBe(1);
}, 240_000);

test('what one agent does not present any more is not missed before the others have answered, or have had the time to', async () => {
  onProcess = () => undefined;
  const world = await start();
  world.cluster.removeMachine('slave-1');
  world.cluster.setReachable(`slave-${perAgent + 1}`, false);
  await world.crash();
  await judge(world);
  expect(await states(world)).toEqual(new Set(['ACTIVE']));
  expect(await world.ends('svc')).toEqual([]);
  await world.cluster.advance(silentAfterMillis);
  await judge(world);
  expect(await world.ends('svc')).toEqual(['TASK_LOST']);
  expect(await world.active('svc')).toHaveLength(slaves - 1);
});

test('a machine that its agent leaves out later is gone at once, and so are its tasks', async () => {
  onProcess = () => undefined;
  const world = await start();
  await world.crash();
  await judge(world);
  const agent = world.cluster.findAgent('slave-1')!;
  agent.machines.delete('slave-1');
  world.driver.machinesChanged(agent);
  await world.cluster.advance(0);
  expect(await world.ends('svc')).toEqual(['TASK_LOST']);
  expect(await states(world)).toEqual(new Set(['ACTIVE', 'DEAD']));
});

test.each([600_000, -600_000])(
  'a clock that is set by %i ms while agents answer makes none of them silent',
  async (by) => {
    onProcess = () => undefined;
    const world = await start();
    await judge(world);
    const clock = world.get(Clock);
    const now = clock.now.bind(clock);
    clock.now = () => now() + by;
    await world.get(SilentAgents).runOnce();
    await world.get(SlaveReconciliation).runOnce(clock.now());
    expect(await states(world)).toEqual(new Set(['ACTIVE']));
    expect(await world.ends('svc')).toEqual([]);
  },
);

test('a term that ends while its duty begins begins nothing: the next one finds the driver free', async () => {
  onProcess = () => undefined;
  const world = await start();
  let starts = 0;
  onProcess = (process) => {
    const real = process.driver.start.bind(process.driver);
    process.driver.start = (...given) => {
      starts += 1;
      return real(...given);
    };
    afterEachCall(process, async (call) => {
      if (call === 1) (process.get(Leadership) as { stepDown: (reason: string) => void }).stepDown('its lease is lost');
    });
  };
  await expect(world.crash()).rejects.toThrow('is over');
  expect(starts).toBe(0);
  onProcess = () => undefined;
  await world.takeOver();
  expect(await states(world)).toEqual(new Set(['ACTIVE']));
});

test('an instance is ready when machines are known: what needs three of them is accepted', async () => {
  const cluster = new SimulatedCluster({ machines: 3, listsEveryMachine: false, startAt: Date.now() });
  for (const id of cluster.machineIds) cluster.setReachable(id, false);
  const whole = await startTestApp({ driver: cluster.driver() });
  close = () => whole.close();
  const get = async (path: string) => {
    const answer = await fetch(`${whole.url}${path}`);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  expect(await get('/readyz')).toMatchObject({
    status: 503,
    body: { ready: false, missing: [expect.stringContaining('No machine is known')] },
  });
  // It serves all the same.
  expect((await get('/api/requests')).status).toBe(200);
  for (const id of cluster.machineIds) cluster.setReachable(id, true);
  await cluster.advance(0);
  await waitFor('readiness', async () => (await get('/readyz')).status === 200);
  const saved = await fetch(`${whole.url}/api/requests`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'svc', requestType: 'SERVICE', instances: 3, slavePlacement: 'SEPARATE' }),
  });
  expect(saved.status).toBe(200);
  expect((await get('/api/state')).body['lastHeartbeatAt']).toEqual(expect.any(Number));
});

test('an instance whose agents never answer is ready in the end, and says that there is no machine', async () => {
  const cluster = new SimulatedCluster({ machines: 1, listsEveryMachine: false });
  cluster.setReachable('slave-1', false);
  const clock = new Clock();
  let later = 0;
  clock.monotonic = () => performance.now() + later;
  const whole = await startTestApp({ driver: cluster.driver(), clock });
  close = () => whole.close();
  const readiness = async () => {
    const answer = await fetch(`${whole.url}/readyz`);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  expect((await readiness()).status).toBe(503);
  later = silentAfterMillis;
  expect(await readiness()).toMatchObject({
    status: 200,
    body: { missing: [], degraded: expect.arrayContaining([expect.stringContaining('No machine is known')]) },
  });
});
