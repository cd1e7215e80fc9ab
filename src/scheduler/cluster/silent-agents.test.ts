import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { MachineReads } from '../../modules/slaves/machine-reads.service.js';
import { Degradations } from '../../platform/health/degradations.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { Reconciliation } from '../reconciliation/reconciliation.service.js';
import { SilentAgents } from './silent-agents.service.js';
import { SlaveReconciliation } from './slave-reconciliation.service.js';

let world: SchedulerWorld;
afterEach(() => world.close());

/** A cluster whose driver hears of machines from their agents, each of its own. */
async function start({ listsEveryMachine = false }: { listsEveryMachine?: boolean } = {}): Promise<void> {
  world = await SchedulerWorld.start({ machines: 2, listsEveryMachine, tellsSilence: true });
}
const fallSilent = (slaveId: string) => world.cluster.setReachable(slaveId, false);
const answerAgain = (slaveId: string) => world.cluster.setReachable(slaveId, true);
async function later(seconds: number): Promise<void> {
  await world.cluster.advance(seconds * 1_000);
  await world.get(SilentAgents).runOnce();
}
const stateOf = async (id: string) =>
  [...(await world.get(MachineReads).slaves())].find((slave) => slave.id === id)?.currentState.state;
const states = async (requestId: string) =>
  (
    await world.query<{ state: string }>(
      `SELECT state FROM task WHERE request_id = $1 UNION ALL
       SELECT last_task_status FROM task_history WHERE request_id = $1 ORDER BY 1`,
      [requestId],
    )
  ).map(({ state }) => state);

test('a silent agent is seen within half a minute: its machine gets no task, and operators are told', async () => {
  await start();
  await later(0);
  fallSilent('slave-1');
  await later(20);
  expect(await stateOf('slave-1')).toBe('ACTIVE');
  expect(world.get(Degradations).list()).toEqual([]);
  await later(8);
  expect([await stateOf('slave-1'), await stateOf('slave-2')]).toEqual(['DEAD', 'ACTIVE']);
  expect(world.get(Degradations).list()).toEqual([expect.stringContaining('has not answered for 28 seconds')]);
  const figures = await world.get(Metrics).registry.metrics();
  expect(figures).toMatch(/^muster_agents_silent 1$/m);
  expect(figures).toMatch(/^muster_agent_last_heard_seconds\{agent="[^"]+"\} 28$/m);

  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 4 });
  await world.run();
  expect(new Set((await world.active('svc')).map(({ slaveId }) => slaveId))).toEqual(new Set(['slave-2']));

  // What the agent said last does not make its machine ACTIVE again; its next answer does.
  await world.get(SlaveReconciliation).runOnce(world.now);
  expect(await stateOf('slave-1')).toBe('DEAD');
  answerAgain('slave-1');
  await later(1);
  expect(await stateOf('slave-1')).toBe('ACTIVE');
  expect(world.get(Degradations).list()).toEqual([]);
});

test('what an operator decided about a machine outlives the silence of its agent', async () => {
  await start();
  await world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-1'`);
  await later(0);
  fallSilent('slave-1');
  await later(60);
  answerAgain('slave-1');
  await later(1);
  expect(await stateOf('slave-1')).toBe('FROZEN');
});

test('tasks of a silent agent run on, end as unreachable after the time to come back, and go on when they are back', async () => {
  await start();
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
  await world.run();
  const on1 = (await world.active('svc')).filter(({ slaveId }) => slaveId === 'slave-1').map(({ taskId }) => taskId.id);
  expect(on1.length).toBe(1);
  await later(0);
  fallSilent('slave-1');
  await later(590);
  expect(await states('svc')).toEqual(['TASK_RUNNING', 'TASK_RUNNING']);
  await later(11);
  expect(await states('svc')).toEqual(['TASK_RUNNING', 'TASK_UNREACHABLE']);
  answerAgain('slave-1');
  await world.cluster.advance(0);
  await later(1);
  // The machine was given up: what ended there is asked after.
  await world.get(Reconciliation).runWhenDue(world.now);
  await world.run(5);
  const active = await world.active('svc');
  expect(active.length).toBe(2);
  expect(active.map(({ taskId }) => taskId.id)).toContain(on1[0]);
});

test('a job on a silent machine is never run a second time, whatever its retries', async () => {
  await start();
  await world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-2'`);
  await world.deployed({ id: 'job', requestType: 'RUN_ONCE', numRetriesOnFailure: 3 });
  await world.run();
  const [job] = await world.active('job');
  await world.query(`UPDATE slave SET state = 'ACTIVE' WHERE id = 'slave-2'`);
  await later(0);
  fallSilent(job!.slaveId);
  await later(700);
  await world.run(3);
  expect(await states('job')).toEqual(['TASK_UNREACHABLE']);
});

test('in a list of all, a silent machine is not gone, and one that is gone is not silent', async () => {
  await start({ listsEveryMachine: true });
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2, slavePlacement: 'SEPARATE' });
  await world.run();
  await later(0);
  fallSilent('slave-1');
  await later(30);
  await world.get(SlaveReconciliation).runOnce(world.now);
  expect(await stateOf('slave-1')).toBe('DEAD');
  expect(await states('svc')).toEqual(['TASK_RUNNING', 'TASK_RUNNING']);
  world.cluster.removeMachine('slave-2');
  await later(30);
  expect(world.get(Degradations).list()).toEqual([expect.stringContaining('slave-1')]);
  expect(await states('svc')).toContain('TASK_LOST');
  expect(await states('svc')).toContain('TASK_RUNNING');
});
