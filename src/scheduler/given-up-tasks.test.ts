import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import { HistoryMover } from '../modules/history/history-mover.service.js';
import { MachineChanges } from '../modules/slaves/machine-changes.service.js';
import { MachineRemoval } from '../modules/slaves/machine-removal.service.js';
import { builtInCaller } from '../platform/http/caller.js';
import { ClusterWatch } from './cluster/cluster-watch.service.js';
import { SilentAgents } from './cluster/silent-agents.service.js';
import { ExplainService } from './explain/explain.service.js';
import { LeaderMemory } from './memory/leader-memory.service.js';
import { MemoryCheck } from './memory/memory-check.service.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';

/* A service of one instance whose old task ends first, on the machine of an agent that falls silent, beside a machine with room. */

const hour = 3_600_000;

let world: SchedulerWorld;
let taskId: string;

async function start(strategy: 'OLD_FIRST' | 'NEW_FIRST' = 'OLD_FIRST'): Promise<void> {
  world = await SchedulerWorld.start({ machines: 2, listsEveryMachine: false, tellsSilence: true });
  world.cluster.onLaunch(() => ({ stopAfter: 30_000 }));
  await world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-2'`);
  await world.deployed({ id: 'svc', requestType: 'SERVICE' }, { deployStrategy: strategy });
  await world.run(2);
  await world.query(`UPDATE slave SET state = 'ACTIVE' WHERE id = 'slave-2'`);
  taskId = (await world.active('svc'))[0]!.taskId.id;
  await later(0);
}
beforeEach(() => start());
afterEach(() => world.close());

async function later(millis: number): Promise<void> {
  await world.cluster.advance(millis);
  await world.get(SilentAgents).runOnce();
}
async function fallSilent(): Promise<void> {
  world.cluster.setReachable('slave-1', false);
  await later(30_000);
  await later(11 * 60_000);
}
async function answerAgain(): Promise<void> {
  world.cluster.setReachable('slave-1', true);
  await world.cluster.advance(0);
  await later(1);
}
const orderedToGo = () =>
  world.query(
    `INSERT INTO task_update (task_id, state, at, message) VALUES ($1, 'TASK_CLEANING', now(), 'USER_REQUESTED')`,
    [taskId],
  );
/** Another deploy is the active one. */
async function activate(id: string, deployStrategy: 'OLD_FIRST' | 'NEW_FIRST'): Promise<void> {
  const deploy = { requestId: 'svc', id, command: 'run', resources: { cpus: 1, memoryMb: 64 }, deployStrategy };
  await world.db.transaction(async (tx) => {
    await tx.query(`INSERT INTO deploy_history (request_id, deploy_id, created_at, data) VALUES ('svc', $1, $2, $3)`, [
      id,
      new Date(world.now),
      JSON.stringify({ deploy }),
    ]);
    await tx.query(`UPDATE request SET active_deploy_id = $1, version = version + 1`, [id]);
  });
  await world.enqueue({ requestId: 'svc', deployId: id, pendingType: 'TASK_DONE' });
}
const starts = () => world.cluster.starts.size;
const moveEnded = async () => {
  const ended = await world.query<{ task_id: string }>('SELECT task_id FROM task WHERE ended_at IS NOT NULL');
  return world.get(HistoryMover).move(ended.map((row) => row.task_id));
};
const isInHistory = async () =>
  (await world.query('SELECT 1 FROM task_history WHERE task_id = $1', [taskId])).length > 0;
const waitsFor = async () =>
  (await world.get(ExplainService).request('svc', builtInUser)).pendingTasks.map(({ reason, message }) => ({
    reason,
    message,
  }));
async function memoryEqualsRows(): Promise<void> {
  await world.get(LeaderMemory).refresh(world.now);
  expect(await world.get(MemoryCheck).compareAll(world.now)).toEqual([]);
}
/** Nothing is started beside the task, and everybody is told for what its replacement waits. */
async function itsReplacementWaits(): Promise<void> {
  expect(await world.active('svc')).toEqual([]);
  expect(starts()).toBe(1);
  const message = `An old task of its request has to end before it starts (deployStrategy OLD_FIRST): 1 of at most 1 live, and may still run: '${taskId}' on slave 'slave-1', until its slave answers or is removed`;
  expect(await waitsFor()).toEqual([{ reason: 'OLD_FIRST', message }]);
  expect(await world.query(`SELECT reason, message FROM v_waiting_task WHERE request_id = 'svc'`)).toEqual([
    { reason: 'OLD_FIRST', message },
  ]);
  await memoryEqualsRows();
}
async function itIsReplaced(): Promise<void> {
  await world.run(3);
  expect(starts()).toBe(2);
  const active = await world.active('svc');
  expect(active).toHaveLength(1);
  expect(active[0]!.taskId.id).not.toBe(taskId);
  expect(world.cluster.runningTasks().map((spec) => spec.taskId)).toEqual([active[0]!.taskId.id]);
  await memoryEqualsRows();
}

describe('while its agent is silent', () => {
  test('the task is unreachable, and no other one starts', async () => {
    await fallSilent();
    await world.run(3);
    await itsReplacementWaits();
    expect(await world.ends('svc')).toEqual(['TASK_UNREACHABLE']);
  });

  test('no other one starts for days, nor by a later leader, and the rows are kept', async () => {
    await fallSilent();
    await world.run(3);
    await world.cluster.advance(9 * 24 * hour);
    await world.get(MachineRemoval).forgetOld(world.now);
    expect(await moveEnded()).toBe(0);
    expect(await isInHistory()).toBe(false);
    await world.crash();
    await world.run(3);
    await itsReplacementWaits();
  });

  test('where new tasks start first, the other one starts at once, and the rows go as ever', async () => {
    await world.close();
    await start('NEW_FIRST');
    await fallSilent();
    await world.run(3);
    expect(starts()).toBe(2);
    expect(await world.active('svc')).toHaveLength(1);
    await world.cluster.advance(25 * hour);
    await moveEnded();
    expect(await isInHistory()).toBe(true);
  });
});

describe('the machine that answers again', () => {
  beforeEach(async () => {
    await fallSilent();
    await world.run(3);
  });

  test('with the task: it goes on, and nothing else starts', async () => {
    await answerAgain();
    await world.run(4);
    expect((await world.active('svc')).map((task) => task.taskId.id)).toEqual([taskId]);
    expect(starts()).toBe(1);
    expect(await waitsFor()).toEqual([]);
    await memoryEqualsRows();
  });

  test('with the end of the task: it is replaced', async () => {
    world.cluster.finish(taskId, 'TASK_FAILED');
    await answerAgain();
    await itIsReplaced();
    expect(await world.ends('svc')).toEqual(['TASK_FAILED']);
  });

  test('without the task: it is replaced, and goes to the history with the end that was concluded', async () => {
    world.cluster.findAgent('slave-1')!.forget(taskId);
    await answerAgain();
    await itIsReplaced();
    expect(await world.ends('svc')).toEqual(['TASK_UNREACHABLE']);
    await world.cluster.advance(25 * hour);
    await moveEnded();
    expect(await isInHistory()).toBe(true);
  });

  test('anew, with an empty folder: it is replaced', async () => {
    world.cluster.reincarnate('slave-1');
    await answerAgain();
    await itIsReplaced();
  });

  test.each<{ why: string; meanwhile: () => Promise<unknown>; end: string }>([
    { why: 'had to go', meanwhile: orderedToGo, end: 'TASK_KILLED' },
    { why: 'is of a former deploy', meanwhile: () => activate('d2', 'OLD_FIRST'), end: 'TASK_UNREACHABLE' },
  ])('with the task, which $why: it is replaced when its end is told', async ({ meanwhile, end }) => {
    await meanwhile();
    await answerAgain();
    await world.run(3);
    expect(world.cluster.runningTasks().map((spec) => spec.taskId)).toEqual([taskId]);
    expect(starts()).toBe(1);
    expect(await waitsFor()).toMatchObject([{ reason: 'OLD_FIRST' }]);
    await world.cluster.advance(30_000);
    await itIsReplaced();
    expect(await world.ends('svc')).toEqual([end]);
  });
});

test('a machine that a user removes is confirmed gone: its task is replaced', async () => {
  await fallSilent();
  await world.run(3);
  await world.get(MachineChanges).remove('SLAVE', 'slave-1', builtInCaller);
  await world.run(3);
  expect(starts()).toBe(2);
  expect((await world.active('svc')).map(({ slaveId }) => slaveId)).toEqual(['slave-2']);
  await memoryEqualsRows();
});

test('so are all that are dead', async () => {
  await fallSilent();
  await world.run(3);
  await world.get(MachineChanges).removeDead('SLAVE');
  await world.run(3);
  expect(starts()).toBe(2);
});

test('a machine that is not presented any more may come back: its task is not replaced before', async () => {
  world.cluster.setReachable('slave-1', false);
  await world.get(ClusterWatch).machineDown('slave-1', 'its agent does not present it any more');
  await world.run(3);
  await itsReplacementWaits();
  expect(await world.ends('svc')).toEqual(['TASK_LOST']);
  await answerAgain();
  await world.run(4);
  expect((await world.active('svc')).map((task) => task.taskId.id)).toEqual([taskId]);
  expect(starts()).toBe(1);
});

test.each(['TASK_UNREACHABLE', 'TASK_LOST'] as const)(
  'a launch that never came, of a task that is %s, is withdrawn before another one starts',
  async (end) => {
    await world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-2'`);
    world.cluster.faults = { delayLaunch: 1, launchDelayMillis: 20 * 60_000 };
    world.cluster.finish(taskId, 'TASK_FAILED');
    await world.run(3);
    world.cluster.faults = {};
    await world.query(`UPDATE slave SET state = 'ACTIVE' WHERE id = 'slave-2'`);
    expect([starts(), (await world.active('svc')).length]).toEqual([1, 1]);
    if (end === 'TASK_UNREACHABLE') await fallSilent();
    else {
      world.cluster.setReachable('slave-1', false);
      await world.get(ClusterWatch).machineDown('slave-1', 'its agent does not present it any more');
    }
    await world.run(3);
    expect([starts(), (await world.active('svc')).length]).toEqual([1, 0]);
    await answerAgain();
    world.get(Reconciliation).request();
    await world.run(3);
    expect(starts()).toBe(2);
    await world.cluster.advance(20 * 60_000);
    await world.run(2);
    expect(starts()).toBe(2);
    expect(await world.active('svc')).toHaveLength(1);
  },
);

test('the version before waits for the machine of a failed deploy', async () => {
  await activate('d0', 'NEW_FIRST');
  await fallSilent();
  await world.run(3);
  await itsReplacementWaits();
});
