import { afterEach, describe, expect, test } from 'vitest';
import type { Deploy } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { toldEvents } from '../../../test/support/told-events.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { PendingType, TaskState } from '../../core/model/enums.js';
import { PendingTaskRepository } from '../../modules/tasks/pending-task.repository.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { builtInUser } from '../../core/authorization/access-rules.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { ExplainService } from './explain.service.js';

let world: SchedulerWorld;
afterEach(() => world.close());

/** Reason of the only pending task in the view, beside the one of the API. */
async function explained(requestId: string) {
  const { pendingTasks } = await world.get(ExplainService).request(requestId, builtInUser);
  const [stored] = await world.query<{ reason: string; message: string | null; rejections: unknown }>(
    'SELECT reason, message, rejections FROM v_waiting_task WHERE request_id = $1',
    [requestId],
  );
  expect(pendingTasks).toHaveLength(1);
  return { ...pendingTasks[0]!, stored };
}

describe('why a due task waits stands in the answer and in the view', () => {
  interface Case {
    name: string;
    request?: Partial<Request>;
    deploy?: Partial<Deploy>;
    before?: () => Promise<unknown>;
    reason: string;
    rejections?: { reason: string; slaves: number }[];
    message: RegExp;
  }
  test.each<Case>([
    {
      name: 'no machine with enough memory',
      deploy: { resources: { cpus: 1, memoryMb: 100_000 } },
      reason: 'NO_MATCHING_SLAVE',
      rejections: [{ reason: 'NOT_ENOUGH_MEMORY', slaves: 3 }],
      message:
        /^No slave of 3 can take it: 3 too small in memory \(the task asks for \d+ MB; the largest of these 3 slaves has \d+, \d+ free\)$/,
    },
    {
      name: 'a wrong attribute',
      request: { requiredSlaveAttributes: { gpu: 'yes' } },
      reason: 'NO_MATCHING_SLAVE',
      rejections: [{ reason: 'SLAVE_ATTRIBUTES_DO_NOT_MATCH', slaves: 3 }],
      message: /3 without the right attributes/,
    },
    {
      name: 'frozen slaves beside one that is too small',
      deploy: { resources: { cpus: 20, memoryMb: 1 } },
      before: () => world.query(`UPDATE slave SET state = 'FROZEN' WHERE id <> 'slave-3'`),
      reason: 'NO_MATCHING_SLAVE',
      rejections: [
        { reason: 'SLAVE_FROZEN', slaves: 2 },
        { reason: 'NOT_ENOUGH_CPUS', slaves: 1 },
      ],
      message: /2 frozen, 1 too small in cpus/,
    },
    {
      name: 'another rack is wanted',
      request: { rackAffinity: ['elsewhere'] },
      reason: 'NO_MATCHING_SLAVE',
      rejections: [{ reason: 'RACK_AFFINITY_NOT_MATCHING', slaves: 3 }],
      message: /3 in another rack than wanted/,
    },
  ])('$name', async ({ request, deploy, before, reason, rejections = [], message }) => {
    world = await SchedulerWorld.start({ machines: 3 });
    await before?.();
    await world.deployed({ id: 'svc', requestType: 'SERVICE', ...request }, deploy);
    await world.pass();
    const told = await explained('svc');
    expect(told).toMatchObject({ reason, slaves: 3, fitting: 0, rejections });
    expect(told.message).toMatch(message);
    const stored = rejections.map((rejection) => expect.objectContaining(rejection) as unknown);
    expect(told.stored).toEqual({ reason, message: told.message, rejections: stored });
  });

  test('all machines run as many tasks as they may, in memory and by the rows that the next leader reads', async () => {
    world = await SchedulerWorld.start({ machines: 0 });
    world.cluster.addMachine({ slaveId: 'small', maxTasks: 2 });
    await world.cluster.advance(1_000);
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 3 });
    const waits = {
      reason: 'NO_MATCHING_SLAVE',
      neverFits: false,
      rejections: [{ reason: 'TOO_MANY_TASKS', slaves: 1, asked: 1, largest: 2, free: 0 }],
      message: 'No slave of 1 can take it: 1 with as many tasks as they may run',
    };
    for (const leader of ['first', 'next']) {
      if (leader === 'next') await world.crash();
      await world.pass();
      expect(await world.active()).toHaveLength(2);
      expect(await explained('svc')).toMatchObject(waits);
    }
    const [first] = await world.active();
    world.cluster.finish(first!.taskId.id, 'TASK_FINISHED');
    await world.cluster.advance(1_000);
    await world.pass();
    expect(await world.active()).toHaveLength(2);
  });

  test('all racks have their share', async () => {
    world = await SchedulerWorld.start({ machines: 1, settings: { expectedRacksCount: 2 } });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2, rackSensitive: true });
    await world.pass();
    expect((await explained('svc')).stored).toMatchObject({ reason: 'NO_MATCHING_SLAVE' });
    expect(await explained('svc')).toMatchObject({ rejections: [{ reason: 'RACK_SATURATED', slaves: 1 }] });
  });

  test('as many runs are active as may be', async () => {
    world = await SchedulerWorld.start();
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND', instances: 1 },
      {},
      { pendingType: 'ONEOFF', runId: 'a' },
    );
    await world.pass();
    await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'b' });
    await world.run();
    expect(await explained('job')).toMatchObject({ reason: 'INSTANCE_LIMIT', stored: { reason: 'INSTANCE_LIMIT' } });
  });

  test('its launch is not admitted by the cluster', async () => {
    world = await SchedulerWorld.start();
    world.cluster.onLaunch(() => ({ notAdmitted: 'denied by a webhook' }));
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(3);
    const told = await explained('svc');
    expect(told).toMatchObject({ reason: 'NOT_ADMITTED', stored: { reason: 'NOT_ADMITTED' } });
    expect(told.message).toContain('denied by a webhook');
    expect(told.stored).toMatchObject({ message: told.message });
  });

  test('its cluster has closed the machines, with the words of the cluster and their names', async () => {
    world = await SchedulerWorld.start({ machines: 3 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' }, { resources: { cpus: 20, memoryMb: 1 } });
    world.cluster.changeMachine('slave-2', { cpus: 30, closedBecause: 'cordoned' });
    world.cluster.changeMachine('slave-3', { cpus: 30, closedBecause: 'not ready: KubeletNotReady' });
    await world.run(2);
    const told = await explained('svc');
    const rejections = [
      { reason: 'SLAVE_CLOSED', slaves: 2, because: 'cordoned: slave-2; not ready: KubeletNotReady: slave-3' },
      { reason: 'NOT_ENOUGH_CPUS', slaves: 1, asked: 20, largest: expect.any(Number), free: expect.any(Number) },
    ];
    expect(told).toMatchObject({ reason: 'NO_MATCHING_SLAVE', rejections, stored: { rejections } });
    expect(told.message).toContain('2 closed to new tasks by their cluster (cordoned: slave-2; not ready');
    expect(told.stored).toMatchObject({ message: told.message });
    world.cluster.changeMachine('slave-2', { closedBecause: undefined });
    await world.run(2);
    expect(await world.active()).toHaveLength(1);
  });

  test('its launch cannot be stored', async () => {
    world = await SchedulerWorld.start();
    await world.query(`ALTER TABLE task_launch ADD CONSTRAINT poison CHECK (task_id NOT LIKE 'svc-%')`);
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.pass();
    const told = await explained('svc');
    expect(told).toMatchObject({ reason: 'CANNOT_BE_STORED', stored: { reason: 'CANNOT_BE_STORED' } });
    expect(told.message).toContain('violates check constraint "poison"');
    expect(told.stored).toMatchObject({ message: told.message });
  });
});

test('a launch that is not answered is told with its reason until it is', async () => {
  world = await SchedulerWorld.start({ faults: { loseLaunch: 1 } });
  const told = async () => (await world.get(ExplainService).request('svc', builtInUser)).unansweredLaunches;
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await world.run(2);
  const [task] = await world.active();
  const message = expect.stringMatching(/^Slave 'slave-1' has not answered its launch, .*: .+/) as unknown;
  expect(await told()).toEqual([{ taskId: task!.taskId, launchedAt: task!.taskId.startedAt, message }]);
  world.cluster.faults = {};
  await world.run(2);
  expect(await world.active()).toEqual([expect.objectContaining({ state: 'TASK_RUNNING' })]);
  expect(await told()).toBeUndefined();
});

test('a task that was launched and does not run is told with what it waits for, until it runs', async () => {
  world = await SchedulerWorld.start();
  world.cluster.onLaunch(() => ({ startAfter: 1_000_000 }));
  const told = async () => (await world.get(ExplainService).request('svc', builtInUser)).startingTasks;
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await world.pass();
  const [task] = await world.active();
  const since = world.now;
  const report = (state: TaskState, message?: string) =>
    world.get(StatusUpdates).reported([
      {
        agentId: 'agent-1',
        incarnation: 'incarnation-1',
        number: 0,
        taskId: task!.taskId.id,
        slaveId: 'slave-1',
        state,
        timestamp: since,
        ...(message !== undefined && { message }),
      },
    ]);
  await report('TASK_STARTING');
  expect(await told()).toBeUndefined();
  await world.cluster.advance(5_000);
  await report('TASK_STARTING', 'no image');
  expect(await told()).toEqual([{ taskId: task!.taskId, state: 'TASK_STARTING', since, message: 'no image' }]);
  await world.query(`UPDATE slave SET state = 'DEAD'`);
  expect(await told()).toMatchObject([{ message: expect.stringMatching(/^Slave 'slave-1' does not answer/) }]);
  await world.query(`UPDATE slave SET state = 'ACTIVE'`);
  await report('TASK_RUNNING');
  expect(await told()).toBeUndefined();
});

test('a task whose time has not come is not due, and cools down where its request does', async () => {
  // The view goes by the database's clock.
  world = await SchedulerWorld.start({ startAt: Date.now() });
  await world.deployed({ id: 'cron', requestType: 'SCHEDULED', schedule: '0 0 1 1 *', quartzSchedule: '0 0 0 1 1 ?' });
  await world.pass();
  expect(await explained('cron')).toMatchObject({ reason: 'NOT_DUE', stored: { reason: 'NOT_DUE', message: null } });
  await world.changeRequest('cron', {}, 'SYSTEM_COOLDOWN');
  expect(await explained('cron')).toMatchObject({ reason: 'COOLDOWN', stored: { reason: 'COOLDOWN' } });
});

test('what was stored goes when the task is placed, and is written again for another reason', async () => {
  world = await SchedulerWorld.start({ machines: 1 });
  await world.query(`UPDATE slave SET state = 'FROZEN'`);
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await world.pass();
  expect(await world.query('SELECT message FROM waiting_reason')).toEqual([
    { message: 'No slave of 1 can take it: 1 frozen' },
  ]);
  await world.query(`UPDATE slave SET state = 'DECOMMISSIONED'`);
  await world.run(11);
  expect(await world.query('SELECT message FROM waiting_reason')).toEqual([
    { message: 'No slave of 1 can take it: 1 being decommissioned' },
  ]);
  await world.query(`UPDATE slave SET state = 'ACTIVE'`);
  await world.pass();
  expect(await world.query('SELECT message FROM waiting_reason')).toEqual([]);
});

test('streams are told that tasks wait, why, when that changes, and that they were taken back', async () => {
  world = await SchedulerWorld.start({ machines: 1 });
  await world.query(`UPDATE slave SET state = 'FROZEN'`);
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 3 });
  await world.pass();
  await world.query(`UPDATE slave SET state = 'DECOMMISSIONED'`);
  await world.run(11);
  const rows = await world.query<{ id: string }>('SELECT id FROM pending_task');
  const removed = rows.map(({ id }) => id);
  await world.get(Database).transaction((tx) => world.get(PendingTaskRepository).remove(tx, removed));
  const pending = (await toldEvents(world, 'PENDING')).map(({ at: _at, ...event }) => event);
  const ofTasks = { type: 'PENDING', requestId: 'svc', deployId: 'd1' };
  const waiting = { ...ofTasks, eventType: 'WAITING', tasks: 3, reason: 'NO_MATCHING_SLAVE' };
  expect(pending).toEqual([
    { ...ofTasks, eventType: 'QUEUED', tasks: 3 },
    { ...waiting, message: 'No slave of 1 can take it: 1 frozen' },
    { ...waiting, message: 'No slave of 1 can take it: 1 being decommissioned' },
    { ...ofTasks, eventType: 'REMOVED', tasks: 3 },
  ]);
});

test('streams are told once that a task was taken back, whichever way it goes, and of none that was not there', async () => {
  world = await SchedulerWorld.start({ machines: 1 });
  await world.query(`UPDATE slave SET state = 'FROZEN'`);
  await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
  await world.pass();
  const repository = world.get(PendingTaskRepository);
  const inOne = (work: (tx: Transaction) => Promise<unknown>) => world.get(Database).transaction(work);
  const told = async () =>
    (await toldEvents(world, 'PENDING')).flatMap(({ eventType, tasks }) => (eventType === 'REMOVED' ? tasks : []));
  const [first] = await world.query<{ id: string }>('SELECT id FROM pending_task');
  await inOne((tx) => repository.markUnwanted(tx, first!.id));
  await inOne((tx) => repository.markUnwanted(tx, first!.id));
  await inOne((tx) => repository.remove(tx, [first!.id, first!.id.replace('svc', 'none')]));
  expect(await told()).toEqual([1]);
  await inOne((tx) => repository.removeOfOtherDeploys(tx, 'svc', 'd1'));
  expect(await told()).toEqual([1]);
  await inOne((tx) => repository.removeAll(tx, 'svc'));
  expect(await told()).toEqual([1, 1]);
});

test('what keeps all of a request from running is told before all else', async () => {
  world = await SchedulerWorld.start();
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  const told = async (): Promise<string | undefined> =>
    (await world.get(ExplainService).request('svc', builtInUser)).message;
  expect(await told()).toBeUndefined();
  await world.changeRequest('svc', {}, 'PAUSED');
  expect(await told()).toBe('It is paused: nothing of it runs before it is unpaused');
  await world.query(
    `INSERT INTO request_history (created_at, event_type, request_id, message, request)
     SELECT now(), 'PAUSED', id, 'The last 3 runs failed', document FROM request`,
  );
  expect(await told()).toMatch(/unpaused\. Reason of the pause: The last 3 runs failed$/);
  await world.changeRequest('svc', {}, 'ACTIVE');
  await world.query('UPDATE request SET active_deploy_id = NULL');
  expect(await told()).toBe('It has no deploy: nothing of it runs before POST /api/deploys has started one');
});

test('entries of the queue say what they wait for', async () => {
  world = await SchedulerWorld.start();
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  expect(await world.get(ExplainService).request('svc', builtInUser)).toMatchObject({
    state: 'ACTIVE',
    activeTasks: 0,
    pendingTasks: [],
    queued: [{ deployId: 'd1', pendingType: 'STARTUP', message: 'It is looked at in the next round' }],
  });
});

test('while a run is active only a new deploy waits for its end', async () => {
  world = await SchedulerWorld.start();
  await world.deployed(
    { id: 'cron', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' },
    {},
    { pendingType: 'IMMEDIATE' },
  );
  await world.pass();
  const queued = async (pendingType: PendingType) => {
    await world.query('DELETE FROM pending_request');
    await world.enqueue({ requestId: 'cron', pendingType });
    const explained = await world.get(ExplainService).request('cron', builtInUser);
    expect(explained.activeTasks).toBe(1);
    return explained.queued.map(({ message }) => message);
  };
  expect(await queued('NEW_DEPLOY')).toEqual(['A run is active; the next one is planned when it ends']);
  expect(await queued('UPDATED_REQUEST')).toEqual(['It is looked at in the next round']);
});

test('an unknown request or pending task is told as such', async () => {
  world = await SchedulerWorld.start();
  await expect(world.get(ExplainService).request('none', builtInUser)).rejects.toMatchObject({
    code: 'REQUEST_NOT_FOUND',
  });
  await expect(world.get(ExplainService).task('none-d1-1-1-NEW_DEPLOY-1', builtInUser)).rejects.toMatchObject({
    code: 'PENDING_TASK_NOT_FOUND',
  });
});
