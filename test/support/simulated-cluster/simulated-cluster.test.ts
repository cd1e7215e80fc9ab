import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StatusUpdate } from '../../../src/cluster/cluster-driver.js';
import { isTerminal, type TaskState } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import { EventRecorder } from '../event-recorder.js';
import { launchSpec } from '../launch-spec.js';
import { waitFor } from '../wait-for.js';
import { EventQueue } from './event-queue.js';
import type { Faults } from './script.js';
import { SimulatedCluster, type SimulatedClusterOptions } from './simulated-cluster.js';
import { Storm } from './storm.js';

async function lead(options: SimulatedClusterOptions = {}) {
  const cluster = new SimulatedCluster(options);
  const driver = cluster.driver();
  const seen = new EventRecorder();
  await driver.start(1, seen, seen.appliedUpdate);
  const spec = (number: number, changes: Partial<LaunchSpec> = {}) => {
    const slaveId = changes.slaveId ?? 'slave-1';
    return launchSpec({
      taskId: `task-${number}`,
      slaveId,
      incarnation: seen.slaves.get(slaveId)!.incarnation,
      ...changes,
    });
  };
  return { cluster, driver, seen, spec };
}

test('things happen at their time, those of one time in the order in which they were planned', () =>
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
      const queue = new EventQueue();
      const happened: [number, number][] = [];
      times.forEach((at, index) => queue.plan(at, () => happened.push([at, index])));
      while (queue.nextAt < Infinity) queue.runNext();
      expect(happened).toEqual(
        times.map((at, index): [number, number] => [at, index]).toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
      );
    }),
  ));

test('a task lives as its script says', async () => {
  const { cluster, driver, seen, spec } = await lead({ startAt: 1_000 });
  cluster.onLaunch(() => ({ startAfter: 10, runFor: 500, exit: 'TASK_FAILED', message: 'no luck', reason: 'WHY' }));
  await driver.launch([spec(1)], 1);
  await cluster.advance(509);
  expect(seen.statesOf('task-1')).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
  await cluster.advance(1);
  expect(seen.updates.at(-1)).toMatchObject({
    state: 'TASK_FAILED',
    timestamp: 1_510,
    message: 'no luck',
    reason: 'WHY',
  });
  expect(cluster.now()).toBe(1_510);
});

test('a task can be ended by the test', async () => {
  const { cluster, driver, seen, spec } = await lead();
  await driver.launch([spec(1)], 1);
  cluster.finish('task-1', 'TASK_LOST', 'gone');
  await cluster.advance(0);
  expect(seen.statesOf('task-1')).toEqual(['TASK_STARTING', 'TASK_LOST']);
  expect(() => cluster.finish('task-1')).toThrow("No simulated task 'task-1' runs");
});

test('a machine that is out of reach answers nothing and runs on; back again it tells everything', async () => {
  const { cluster, driver, seen, spec } = await lead({ machines: 2 });
  cluster.onLaunch(() => ({ runFor: 100 }));
  await driver.launch([spec(1)], 1);
  cluster.setReachable('slave-1', false);
  await cluster.advance(1_000);
  expect(seen.updates).toEqual([]);
  expect(await driver.launch([spec(2)], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
  expect(await driver.kill('task-1', 'slave-1', 0, 1)).toBe('UNKNOWN');
  expect((await driver.reconcile(1)).map((list) => list.agentId)).toEqual(['agent-2']);
  await expect(driver.sandbox('task-1', 'slave-1')).rejects.toThrow("Slave 'slave-1' cannot be reached");
  cluster.setReachable('slave-1', true);
  await cluster.advance(0);
  expect(seen.statesOf('task-1')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
});

test('a machine that is removed is told as gone, and its tasks are heard of no more', async () => {
  const { cluster, driver, seen, spec } = await lead({ machines: 2 });
  await driver.launch([spec(1)], 1);
  await cluster.advance(100);
  cluster.removeMachine('slave-1');
  await cluster.advance(100);
  expect(seen.machinesDown).toEqual(['slave-1']);
  expect(cluster.runningTasks()).toEqual([]);
  expect(driver.machines().map((machine) => machine.slaveId)).toEqual(['slave-2']);
});

test('an agent that begins anew has another incarnation, and starts nothing that was meant for the old one', async () => {
  const { cluster, driver, seen, spec } = await lead();
  const old = spec(1);
  await driver.launch([old], 1);
  await cluster.advance(100);
  cluster.reincarnate('slave-1');
  await cluster.advance(100);
  expect(seen.slaves.get('slave-1')?.incarnation).not.toBe(old.incarnation);
  expect(await driver.launch([old], 1)).toMatchObject([{ outcome: 'REFUSED' }]);
  await driver.launch([spec(2)], 1);
  await cluster.advance(100);
  expect(seen.updates.filter((update) => update.taskId === 'task-2')[0]?.number).toBe(1);
});

test('machines that come and change are told', async () => {
  const { cluster, seen } = await lead();
  cluster.addMachine({ slaveId: 'new', rackId: 'r2', cpus: 3 });
  await cluster.advance(0);
  expect(seen.slaves.get('new')).toMatchObject({ rackId: 'r2', cpus: 3 });
  cluster.changeMachine('new', { portsInUse: [31_005] });
  await cluster.advance(0);
  expect(seen.slaves.get('new')?.portsInUse).toEqual([31_005]);
});

test('one agent may present many machines', async () => {
  const { cluster, seen } = await lead({ machines: 5_000, machinesPerAgent: 1_000 });
  expect([seen.slaves.size, cluster.agents.size]).toEqual([5_000, 5]);
});

test('time and other agents go on while updates of one are stored, where it is told so', async () => {
  const { cluster, driver, seen, spec } = await lead({ machines: 2, waitsForAgents: false });
  cluster.onLaunch(() => ({ runFor: 100 }));
  let store = () => undefined as void;
  const stored = new Promise<void>((resolve) => (store = resolve));
  const { statusUpdates } = EventRecorder.prototype;
  seen.statusUpdates = async (updates) => {
    if (updates[0]?.slaveId === 'slave-1') await stored;
    return statusUpdates.call(seen, updates);
  };
  await driver.launch([spec(1)], 1);
  await driver.launch([spec(2, { slaveId: 'slave-2' })], 1);
  for (let passed = 0; passed < 200; passed += 10) await cluster.advance(10);
  const states = () => [1, 2].map((number) => seen.statesOf(`task-${number}`));
  const all = ['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED'];
  expect(states()).toEqual([[], all]);
  store();
  await waitFor('the updates that were held up', async () => {
    await cluster.advance(10);
    return seen.statesOf('task-1').length === all.length;
  });
  expect(states()).toEqual([all, all]);
});

test('orders to a slow machine are not answered, and carried out late; its updates come late, too', async () => {
  const { cluster, driver, seen, spec } = await lead();
  cluster.setLatency('slave-1', 700);
  expect(await driver.launch([spec(1)], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
  await cluster.advance(699);
  expect(cluster.starts.size).toBe(0);
  await cluster.advance(1);
  expect(cluster.starts.get('task-1')).toBe(1);
  await cluster.advance(699);
  expect(seen.updates).toEqual([]);
  await cluster.advance(10);
  expect(seen.statesOf('task-1')).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
});

test('a launch that arrives twice starts once', async () => {
  const { cluster, driver, spec } = await lead({ faults: { doubleLaunch: 1, launchDelayMillis: 50 } });
  await driver.launch([spec(1)], 1);
  await cluster.advance(100);
  expect(cluster.starts.get('task-1')).toBe(1);
  expect(cluster.incidents.get('doubleLaunch')).toBe(1);
});

test('a late kill takes effect when it arrives', async () => {
  const { cluster, driver, seen, spec } = await lead({ faults: { delayKill: 1, launchDelayMillis: 5_000 } });
  await driver.launch([spec(1)], 1);
  expect(await driver.kill('task-1', 'slave-1', 0, 1)).toBe('UNKNOWN');
  await cluster.advance(4_999);
  expect(seen.statesOf('task-1')).not.toContain('TASK_KILLED');
  await cluster.advance(1);
  expect(seen.statesOf('task-1')).toContain('TASK_KILLED');
});

test('updates that are held up come later, in their order', async () => {
  const { cluster, driver, seen, spec } = await lead({ faults: { delayUpdates: 1, updateDelayMillis: 300 } });
  cluster.onLaunch(() => ({ runFor: 100 }));
  await driver.launch([spec(1)], 1);
  await cluster.advance(299);
  expect(seen.updates).toEqual([]);
  await cluster.advance(1);
  expect(seen.statesOf('task-1')).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
});

test('a machine that vanished comes back empty, with a new folder', async () => {
  const { cluster, driver, seen, spec } = await lead({ machines: 1 });
  const before = spec(1);
  await driver.launch([before], 1);
  cluster.removeMachine('slave-1');
  await cluster.advance(1);
  cluster.restoreMachine('slave-1');
  await cluster.advance(1);
  expect(cluster.runningTasks()).toEqual([]);
  expect(seen.slaves.get('slave-1')?.incarnation).not.toBe(before.incarnation);
  expect(() => cluster.restoreMachine('slave-1')).toThrow('has not vanished');
});

test('what a scheduler sent before it stood still arrives when it goes on, and is refused once another one leads', async () => {
  const { cluster, driver, spec } = await lead({ machines: 2 });
  driver.freeze();
  expect(await driver.launch([spec(1), spec(2, { slaveId: 'slave-2' })], 1)).toMatchObject([
    { outcome: 'UNKNOWN' },
    { outcome: 'UNKNOWN' },
  ]);
  cluster.setReachable('slave-2', false);
  const second = new EventRecorder();
  await cluster.driver().start(2, second, second.appliedUpdate);
  cluster.agents.get('agent-2')!.unreachableSince = undefined;
  driver.thaw();
  // slave-2 has heard of no other leader: what was committed before the takeover may start there.
  expect([...cluster.startOf]).toEqual([['task-2', { at: cluster.now(), epoch: 1 }]]);
  expect(cluster.incidents.get('refusedOrder')).toBe(1);
});

test('what a dead scheduler sends gets nowhere', async () => {
  const { cluster, driver, spec } = await lead();
  driver.die();
  expect(await driver.launch([spec(1)], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
  driver.thaw();
  await cluster.advance(60_000);
  expect(cluster.starts.size).toBe(0);
});

test('a storm strikes as often as it is told, and leaves every machine well when it is over', async () => {
  const { cluster } = await lead({ machines: 20 });
  const storm = new Storm(cluster, { unreachable: 30, slow: 30, newFolder: 30, vanished: 30 }, 600_000);
  storm.begin();
  await cluster.advance(10 * 3_600_000);
  for (const kind of ['unreachable', 'slow', 'newFolder', 'vanished'] as const) {
    expect(cluster.incidents.get(kind)).toBeGreaterThan(200);
    expect(cluster.incidents.get(kind)).toBeLessThan(400);
  }
  storm.end();
  const before = new Map(cluster.incidents);
  await cluster.advance(3_600_000);
  expect(cluster.incidents).toEqual(before);
  expect(cluster.machineIds).toHaveLength(20);
  expect([...cluster.agents.values()].every((agent) => agent.reachable && agent.latencyMillis === 0)).toBe(true);
});

/** A scheduler that repeats what it does not know to be done, and what it then saw. */
async function runWithFaults(
  seed: number,
  faults: Faults,
): Promise<{ updates: StatusUpdate[]; cluster: SimulatedCluster; ids: string[] }> {
  const { cluster, driver, seen, spec } = await lead({ seed, machines: 3, faults });
  cluster.onLaunch(({ taskId }) => ({ runFor: 50 + 7 * taskId.length }));
  const specs = Array.from({ length: 12 }, (_, index) => spec(index, { slaveId: `slave-${1 + (index % 3)}` }));
  let open = specs;
  while (open.length > 0) {
    const answers = await driver.launch(open, 1);
    open = open.filter((_spec, index) => answers[index]?.outcome === 'UNKNOWN');
    await cluster.advance(20);
  }
  // Each attempt to deliver updates may take ten seconds and come to nothing: enough of them for all.
  await cluster.advance(3_600_000);
  return { updates: seen.updates, cluster, ids: specs.map(({ taskId }) => taskId) };
}
const probability = fc.constantFrom(0, 0.1, 0.5);
const anyFaults = fc.record({
  loseLaunch: probability,
  delayLaunch: probability,
  doubleLaunch: probability,
  loseLaunchAnswer: probability,
  delayUpdates: probability,
  loseUpdates: probability,
  duplicateUpdates: probability,
  reorderUpdates: probability,
});

test('whatever goes wrong on the way, each task starts once and its end arrives', () =>
  fc.assert(
    fc.asyncProperty(fc.integer(), anyFaults, async (seed, faults) => {
      const { updates, cluster, ids } = await runWithFaults(seed, faults);
      for (const id of ids) {
        expect(cluster.starts.get(id)).toBe(1);
        const ends = updates.filter((update) => update.taskId === id && isTerminal(update.state));
        expect(new Set(ends.map((end): TaskState => end.state))).toEqual(new Set(['TASK_FINISHED']));
        expect(new Set(ends.map((end) => end.number)).size).toBe(1);
      }
    }),
    { numRuns: 40 },
  ));

test('the same seed gives the same course', () =>
  fc.assert(
    fc.asyncProperty(fc.integer(), anyFaults, async (seed, faults) => {
      expect((await runWithFaults(seed, faults)).updates).toEqual((await runWithFaults(seed, faults)).updates);
    }),
    { numRuns: 20 },
  ));

test('without faults every update comes once and in order', async () => {
  const { updates } = await runWithFaults(1, {});
  for (const agentId of ['agent-1', 'agent-2', 'agent-3']) {
    const numbers = updates.filter((update) => update.agentId === agentId).map((update) => update.number);
    expect(numbers).toEqual(numbers.map((_number, index) => index + 1));
  }
});
