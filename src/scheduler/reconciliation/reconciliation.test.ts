import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { SimulatedDriver } from '../../../test/support/simulated-cluster/simulated-driver.js';
import type { TaskReconciliationStatistics } from '../../core/model/state.js';
import { StateRepository } from '../../modules/state/state.repository.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { Reconciliation } from './reconciliation.service.js';

let world: SchedulerWorld;
let asked: MockInstance<SimulatedDriver['reconcile']>;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 3 });
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 3 });
  await world.run(2);
  asked = vi.spyOn(world.driver, 'reconcile');
});
afterEach(() => world.close());

const look = async (afterMillis = 0) => {
  await world.cluster.advance(afterMillis);
  await world.get(Reconciliation).runWhenDue(world.now);
};
const begin = () => world.get(Reconciliation).start();
const figures = () => world.get(StateRepository).lastReconciliation(world.db.pool);
const taskOn = async (slaveId: string) => (await world.active()).find((task) => task.slaveId === slaveId)!.taskId.id;
/** The agents that were asked, call by call; 'all': no names given. */
const rounds = () => asked.mock.calls.map(([, agents]) => (agents ? [...agents] : 'all'));

describe('a cycle', () => {
  test('is begun by a new leader, and then every ten minutes', async () => {
    expect(await figures()).toMatchObject({ taskReconciliationStartedAt: world.now - 2_000 });
    await look(597_999);
    expect(asked).not.toHaveBeenCalled();
    await look(1);
    expect(asked).toHaveBeenCalledTimes(1);
    await look(599_999);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test('is not begun by the clock in a term in which this leader has not begun to lead', async () => {
    vi.spyOn(world.get(Leadership), 'current').mockReturnValue(2);
    await look(700_000);
    expect(asked).not.toHaveBeenCalled();
    expect(await world.get(Reconciliation).start()).toBe('STARTED');
  });

  test('answers STARTED, and ALREADY_RUNNING until it is over', async () => {
    world.cluster.setReachable('slave-2', false);
    expect(await begin()).toBe('STARTED');
    expect(await begin()).toBe('ALREADY_RUNNING');
    await look();
    expect(await begin()).toBe('ALREADY_RUNNING');
    world.cluster.setReachable('slave-2', true);
    await look(30_000);
    expect(await begin()).toBe('STARTED');
  });

  test('answers NO_DRIVER where this instance does not lead', async () => {
    const reconciliation = world.get(Reconciliation);
    const former = await world.overtake();
    former.leadership.stepDown();
    expect(await reconciliation.start()).toBe('NO_DRIVER');
  });

  test('is not begun while thousands of status updates wait', async () => {
    const backlog = vi.spyOn(world.get(StatusUpdates), 'backlog', 'get').mockReturnValue(4_000);
    expect(await begin()).toBe('BUSY');
    await look(600_000);
    expect(asked).not.toHaveBeenCalled();
    backlog.mockReturnValue(3_999);
    expect(await begin()).toBe('STARTED');
  });

  test('asks machines that did not answer again every 30 seconds, without giving up', async () => {
    world.cluster.setReachable('slave-2', false);
    await begin();
    await look();
    await look(29_999);
    expect(rounds()).toEqual(['all']);
    for (let round = 0; round < 5; round++) await look(30_000);
    expect(rounds()).toEqual(['all', ...Array.from({ length: 5 }, () => ['agent-2'])]);
    world.cluster.setReachable('slave-2', true);
    await look(30_000);
    expect(await figures()).toMatchObject({ taskReconciliationIterations: 7, taskReconciliationResponseCount: 3 });
    await look(30_000);
    expect(asked).toHaveBeenCalledTimes(7);
  });

  test('that waits for one machine keeps no other from being compared', async () => {
    world.cluster.setReachable('slave-2', false);
    await begin();
    await look();
    await look(600_000);
    expect(rounds()).toEqual(['all', 'all']);
  });

  test('waits no more for a task that has ended', async () => {
    world.cluster.setReachable('slave-2', false);
    await begin();
    await look();
    const lost = { taskId: await taskOn('slave-2'), slaveId: 'slave-2', state: 'TASK_LOST' as const };
    await world.get(StatusUpdates).concluded([{ ...lost, timestamp: world.now }]);
    await look(30_000);
    expect(await figures()).toMatchObject({ taskReconciliationResponseCount: 2 });
  });

  test('of a leader that leads no more is forgotten, its successor begins its own', async () => {
    world.cluster.setReachable('slave-2', false);
    await begin();
    await look();
    await world.crash();
    asked = vi.spyOn(world.driver, 'reconcile');
    world.cluster.setReachable('slave-2', true);
    await look();
    expect(rounds()).toEqual(['all']);
    expect(await figures()).toMatchObject({ taskReconciliationIterations: 1, taskReconciliationResponseCount: 3 });
  });

  test('leaves its figures: one delay per task, and all its percentiles', async () => {
    world.cluster.setReachable('slave-2', false);
    const startedAt = world.now;
    await begin();
    await look();
    world.cluster.setReachable('slave-2', true);
    await look(30_000);
    const stored: TaskReconciliationStatistics | undefined = await figures();
    expect(stored).toEqual({
      taskReconciliationStartedAt: startedAt,
      taskReconciliationDurationMillis: 30_000,
      taskReconciliationIterations: 2,
      taskReconciliationResponseCount: 3,
      taskReconciliationResponseMax: 30_000,
      taskReconciliationResponseMean: 10_000,
      taskReconciliationResponseMin: 0,
      taskReconciliationResponseP50: 0,
      taskReconciliationResponseP75: 30_000,
      taskReconciliationResponseP95: 30_000,
      taskReconciliationResponseP98: 30_000,
      taskReconciliationResponseP99: 30_000,
      taskReconciliationResponseP999: 30_000,
      taskReconciliationResponseStddev: expect.closeTo(14_142.1, 0),
    });
  });

  test('ends a task of which its machine knows the end and we do not', async () => {
    const id = await taskOn('slave-1');
    const agent = world.cluster.findAgent('slave-1')!;
    vi.spyOn(agent, 'list').mockImplementation(() => ({
      agentId: agent.agentId,
      incarnation: agent.incarnation,
      asOfUpdate: 0,
      tasks: [{ taskId: id, state: 'TASK_FAILED' }],
    }));
    await begin();
    await look();
    expect(await world.ends('svc')).toEqual(['TASK_FAILED']);
  });

  test('believes the absence when those updates were stored once and come no more: the database is an older one', async () => {
    await taskOn('slave-1');
    const agent = world.cluster.findAgent('slave-1')!;
    vi.spyOn(agent, 'list').mockImplementation(() => ({
      agentId: agent.agentId,
      incarnation: agent.incarnation,
      asOfUpdate: 1_000,
      acknowledged: 1_000,
      tasks: [],
    }));
    await begin();
    await look();
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
  });

  test('believes no absence while updates of the machine are on their way, and looks again a second later', async () => {
    const id = await taskOn('slave-1');
    const agent = world.cluster.findAgent('slave-1')!;
    const list = vi.spyOn(agent, 'list');
    list.mockImplementation(() => ({
      agentId: agent.agentId,
      incarnation: agent.incarnation,
      asOfUpdate: 1_000,
      tasks: [],
    }));
    await begin();
    await look();
    expect(await world.ends('svc')).toEqual([]);
    list.mockRestore();
    await look(1_000);
    expect(await taskOn('slave-1')).toBe(id);
    expect(await figures()).toMatchObject({ taskReconciliationIterations: 2, taskReconciliationResponseCount: 3 });
  });
});

describe('single tasks', () => {
  /** The tasks were launched two seconds ago. Nothing was heard of this one. */
  const stall = (id: string) => world.query(`UPDATE task SET state = 'TASK_LAUNCHED' WHERE task_id = $1`, [id]);

  test('a launch without a sign of life is asked after when it is older than three minutes', async () => {
    await stall(await taskOn('slave-2'));
    await look(178_000);
    expect(asked).not.toHaveBeenCalled();
    await look(5_000);
    expect(rounds()).toEqual([['agent-2']]);
  });

  test('it is asked after at most every 15 seconds, each launch for itself', async () => {
    world.cluster.setReachable('slave-2', false);
    await stall(await taskOn('slave-2'));
    await look(183_000);
    await look(5_000);
    await stall(await taskOn('slave-3'));
    await look(5_000);
    expect(rounds()).toEqual([['agent-2'], ['agent-3']]);
    await look(5_000);
    expect(rounds()).toEqual([['agent-2'], ['agent-3'], ['agent-2']]);
  });

  test('what its machine answers is believed', async () => {
    const id = await taskOn('slave-2');
    await stall(id);
    await look(183_000);
    const task = (await world.active()).find((each) => each.taskId.id === id);
    expect(task).toMatchObject({ state: 'TASK_RUNNING' });
  });

  test('one that a caller named is asked after at once, on its machine only, and once', async () => {
    const id = await taskOn('slave-3');
    world.cluster.findAgent('slave-3')!.forget(id);
    await world.query('INSERT INTO reconciliation_wish VALUES ($1, now())', [id]);
    await look();
    expect(rounds()).toEqual([['agent-3']]);
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
    await look(1_000);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test('one that a caller named is asked after again where that could not be done', async () => {
    const id = await taskOn('slave-3');
    world.cluster.findAgent('slave-3')!.forget(id);
    await world.query('INSERT INTO reconciliation_wish VALUES ($1, now())', [id]);
    asked.mockRejectedValueOnce(new Error('the cluster refuses'));
    await expect(look()).rejects.toThrow('the cluster refuses');
    await look(1_000);
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
  });

  test('a launch that was not answered is never taken for lost', async () => {
    const id = await taskOn('slave-2');
    await stall(id);
    await world.query('UPDATE task SET answered_at = NULL');
    world.cluster.findAgent('slave-2')!.forget(id);
    await look(183_000);
    expect(await world.ends('svc')).toEqual([]);
  });
});
