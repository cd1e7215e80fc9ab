import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import type { Request } from '../core/model/request.js';
import type { PendingRequest, PendingTask } from '../core/model/task.js';

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 1 });
});
afterEach(() => world.close());

const asked = {
  user: 'me',
  runId: 'run-1',
  cmdLineArgsList: ['x'],
  message: 'why',
  skipHealthchecks: true,
  actionId: 'action-1',
  resources: { cpus: 2, memoryMb: 128 },
  runAsUserOverride: 'somebody',
  envOverrides: { A: 'b' },
  allowedSlaveAttributeOverrides: { e: 'f' },
  requiredSlaveAttributeOverrides: {},
  extraArtifacts: [{ uri: 'http://x/y' }],
  objstoreUploaderAdditionalFiles: [{ filename: 'log' }],
  trigger: 'AFTER',
  scheduledAt: 1_700_000_000_000,
  flowId: 'flow-1',
  parentRuns: ['load-d1-1-1-h-r'],
} satisfies Partial<PendingRequest>;

/** Pending tasks of all launches in their order; those of ended tasks included. */
async function launchedFor(): Promise<PendingTask[]> {
  const found = await world.query<{ pending: PendingTask }>(
    `SELECT pending FROM (
       SELECT (data->'task'->'taskRequest'->'pendingTask')::jsonb AS pending FROM task_history
       UNION ALL SELECT (document->'pendingTask')::jsonb FROM task_launch) launches
     ORDER BY pending->'pendingTaskId'->'createdAt'`,
  );
  return found.map(({ pending }) => pending);
}
const retries = async () =>
  (await world.query<{ retries: number }>('SELECT num_sequential_retries AS retries FROM deploy_statistics'))[0]
    ?.retries;

test('a run that failed is launched again with all that was asked for it', async () => {
  const told: unknown[] = [];
  world.cluster.onLaunch(({ environment: { TASK_RUN_ID, TASK_ATTEMPT, TASK_TRIGGER } }) => {
    told.push([TASK_RUN_ID, TASK_ATTEMPT, TASK_TRIGGER]);
    return { runFor: 10, exit: 'TASK_FAILED' };
  });
  const job = { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 1 } as const;
  await world.deployed(job, {}, { pendingType: 'ONEOFF', ...asked });
  await world.run(6);
  const launches = await launchedFor();
  expect(launches.map(({ pendingTaskId }) => pendingTaskId.pendingType)).toEqual(['ONEOFF', 'RETRY']);
  expect(launches[0]).toMatchObject(asked);
  expect({ ...launches[1], pendingTaskId: undefined }).toEqual({
    ...launches[0],
    pendingTaskId: undefined,
    retries: 1,
    trigger: 'RETRY',
    attempt: 2,
  });
  expect(told).toEqual([
    ['run-1', '1', 'AFTER'],
    ['run-1', '2', 'RETRY'],
  ]);
  expect(await retries()).toBe(0);
});

test.each(['ON_DEMAND', 'RUN_ONCE', 'SCHEDULED'] as const)(
  'a %s run is tried again when its delay is over, whichever leader there is by then',
  async (requestType) => {
    const starts: number[] = [];
    world.cluster.onLaunch(() => {
      starts.push(world.now);
      return { runFor: 10, exit: 'TASK_FAILED' };
    });
    const retry = { attempts: 2, delayMillis: 10_000, backoffFactor: 3 };
    const schedule = requestType === 'SCHEDULED' ? { quartzSchedule: '0 0 0 1 1 ? *' } : {};
    const pendingType = requestType === 'ON_DEMAND' ? 'ONEOFF' : requestType === 'RUN_ONCE' ? 'NEW_DEPLOY' : 'RETRY';
    await world.deployed({ id: 'job', requestType, retry, ...schedule }, {}, { pendingType });
    await world.run(5);
    expect(starts).toHaveLength(1);
    await world.crash();
    await world.run(10);
    expect(starts).toHaveLength(2);
    await world.crash();
    await world.run(25);
    expect(starts).toHaveLength(2);
    await world.run(10);
    expect(starts).toHaveLength(3);
    const pauses = starts.slice(1).map((at, index) => at - starts[index]!);
    expect(pauses[0]).toBeGreaterThanOrEqual(10_000);
    expect(pauses[1]).toBeGreaterThanOrEqual(30_000);
    await world.run(100);
    expect(starts).toHaveLength(3);
  },
);

test('a run is not tried again after an exit code that is ruled out, as its machine tells it', async () => {
  const codes = [75, 2];
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED', exitCode: codes.shift() }));
  const job: Request = { id: 'job', requestType: 'ON_DEMAND', retry: { attempts: 5, notOnExitCodes: [2] } };
  await world.deployed(job, {}, { pendingType: 'ONEOFF' });
  await world.run(8);
  expect(await launchedFor()).toHaveLength(2);
  expect(codes).toEqual([]);
});

test('runs that share an id and fail at one moment are each tried again', async () => {
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
  const job = { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 1, instances: 3 } as const;
  await world.deployed(job, {}, { pendingType: 'ONEOFF', runId: 'run-1' });
  for (const before of [1, 2]) {
    const timestamp = world.now - before;
    await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'run-1', timestamp });
  }
  await world.run(6);
  expect(await launchedFor()).toHaveLength(6);
});

test('each of several runs side by side has the retries that were promised', async () => {
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
  const job = { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 2, instances: 3 } as const;
  await world.deployed(job, {}, { pendingType: 'ONEOFF', runId: 'run-1' });
  for (const runId of ['run-2', 'run-3']) await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId });
  await world.run(15);
  const attempts = (await launchedFor()).map(({ runId }) => runId).toSorted();
  expect(attempts).toEqual(['run-1', 'run-2', 'run-3'].flatMap((id) => [id, id, id]));
});

test('a run that was lost with its machine is launched again, and has its retries left', async () => {
  const job = { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 1 } as const;
  await world.deployed(job, {}, { pendingType: 'ONEOFF', ...asked });
  await world.run(2);
  world.cluster.reincarnate('slave-1');
  await world.run(3);
  expect(await world.ends('job')).toEqual(['TASK_LOST']);
  const launches = await launchedFor();
  expect(launches.map(({ pendingTaskId }) => pendingTaskId.pendingType)).toEqual(['ONEOFF', 'RETRY']);
  expect({ ...launches[1], pendingTaskId: undefined }).toEqual({ ...launches[0], pendingTaskId: undefined });
  expect(await retries()).toBe(0);
  const [task] = await world.active();
  world.cluster.finish(task!.taskId.id, 'TASK_FAILED', 'boom');
  await world.run(2);
  expect(await retries()).toBe(1);
  expect(await world.active()).toHaveLength(1);
});

test('the run of a job that was lost with its machine goes on at once, and its next turn follows its end', async () => {
  await world.deployed(
    { id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0 0 * * * ?' },
    {},
    {
      pendingType: 'IMMEDIATE',
      runId: 'run-1',
    },
  );
  await world.run(2);
  world.cluster.reincarnate('slave-1');
  await world.run(3);
  const [task] = await world.active();
  expect(task).toMatchObject({ runId: 'run-1', state: 'TASK_RUNNING' });
  expect(await world.query('SELECT 1 FROM pending_task UNION ALL SELECT 1 FROM pending_request')).toEqual([]);
  world.cluster.finish(task!.taskId.id, 'TASK_FINISHED');
  await world.run(2);
  const [planned] = await world.query<{ id: string }>('SELECT id FROM pending_task');
  expect(planned!.id).toContain('TASK_DONE');
});

/** Makes `d2` the deploy in use, as a deploy of a job does at once, and asks for its first run. */
async function deployAgain(requestId: string): Promise<void> {
  const deploy = { requestId, id: 'd2', command: 'run', resources: { cpus: 1, memoryMb: 64 } };
  await world.query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, data) VALUES ($1, 'd2', now(), $2)`,
    [requestId, JSON.stringify({ deploy })],
  );
  await world.query(`UPDATE request SET active_deploy_id = 'd2', version = version + 1 WHERE id = $1`, [requestId]);
  await world.enqueue({ requestId, deployId: 'd2', pendingType: 'NEW_DEPLOY' });
}
const running = async () =>
  (await world.active()).map(({ taskId, pendingType }) => `${taskId.deployId} ${pendingType}`).toSorted();
const jobs = { quartzSchedule: '0 0 * * * ?', requestType: 'SCHEDULED' } as const;

test('each lost run of a RUN_ONCE request is launched again once, under the deploy it was of', async () => {
  await world.deployed({ id: 'once', requestType: 'RUN_ONCE' }, {}, { pendingType: 'NEW_DEPLOY' });
  await world.run(2);
  await deployAgain('once');
  await world.run(2);
  expect(await running()).toEqual(['d1 NEW_DEPLOY', 'd2 NEW_DEPLOY']);
  world.cluster.reincarnate('slave-1');
  await world.run(3);
  expect(await running()).toEqual(['d1 RETRY', 'd2 RETRY']);
  expect(await world.ends('once')).toEqual(['TASK_LOST', 'TASK_LOST']);
  for (const { taskId } of await world.active()) world.cluster.finish(taskId.id, 'TASK_FINISHED');
  await world.run(3);
  expect(await running()).toEqual([]);
  expect(await launchedFor()).toHaveLength(4);
});

test('a run of a RUN_ONCE request that has ended is not started again by a change of the request or the end of a pause', async () => {
  await world.deployed({ id: 'once', requestType: 'RUN_ONCE' }, {}, { pendingType: 'NEW_DEPLOY' });
  await world.run(2);
  world.cluster.finish((await world.active())[0]!.taskId.id, 'TASK_FINISHED');
  for (const pendingType of ['UPDATED_REQUEST', 'UNPAUSED'] as const) {
    await world.enqueue({ requestId: 'once', deployId: 'd1', pendingType });
    await world.run(3);
  }
  expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
  expect(await world.query('SELECT 1 FROM pending_request')).toEqual([]);
  expect(await launchedFor()).toHaveLength(1);
});

test('a planned run that is lost while a newer deploy waits for it is run by that deploy, which then plans the next', async () => {
  await world.deployed({ id: 'cron', ...jobs });
  await world.run(1);
  await world.query(`UPDATE pending_task SET next_run_at = now() - interval '90 days', document = jsonb_set(document,
    '{pendingTaskId,nextRunAt}', '1')`);
  await world.crash();
  await world.run(2);
  expect(await running()).toEqual(['d1 STARTUP']);
  await deployAgain('cron');
  await world.run(2);
  world.cluster.reincarnate('slave-1');
  await world.run(3);
  expect(await running()).toEqual(['d2 RETRY']);
  const [task] = await world.active();
  world.cluster.finish(task!.taskId.id, 'TASK_FINISHED');
  await world.run(3);
  const planned = await world.query('SELECT deploy_id, pending_type FROM pending_task');
  expect(planned).toEqual([{ deploy_id: 'd2', pending_type: 'NEW_DEPLOY' }]);
  expect(await world.query('SELECT 1 FROM pending_request')).toEqual([]);
});

test('a run of a job that waits for a place is not taken for its next turn when the request changes or a leader begins', async () => {
  await world.deployed({ id: 'cron', ...jobs });
  await world.run(1);
  await world.enqueue({ requestId: 'cron', pendingType: 'IMMEDIATE', runId: 'mine', resources: { cpus: 99_000 } });
  await world.run(2);
  await world.enqueue({ requestId: 'cron', pendingType: 'UPDATED_REQUEST' });
  await world.query(`UPDATE request SET changed_at = changed_at + interval '1 minute'`);
  await world.crash();
  await world.run(2);
  expect(await world.query(`SELECT document->>'runId' AS run FROM pending_task`)).toEqual([{ run: 'mine' }]);
});

test('the end of a task whose deploy is not the active one is counted, and queues nothing', async () => {
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await world.run(2);
  const [task] = await world.active();
  await world.query(`UPDATE request SET active_deploy_id = 'd2'`);
  world.cluster.finish(task!.taskId.id, 'TASK_FAILED', 'boom');
  await world.run(2);
  expect(await world.ends('svc')).toEqual(['TASK_FAILED']);
  expect(await world.active()).toEqual([]);
  expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
  expect(await world.query('SELECT num_failures FROM deploy_statistics')).toEqual([{ num_failures: 1 }]);
});

test('a job whose runs fail is paused, and told of once', async () => {
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
  const job: Request = {
    id: 'job',
    requestType: 'SCHEDULED',
    quartzSchedule: '0/5 * * * * ?',
    owners: ['ada@example.org'],
    pauseAfterFailures: 2,
    numRetriesOnFailure: 1,
  };
  const state = async () => (await world.query<{ state: string }>('SELECT state FROM request'))[0]?.state;
  await world.deployed(job, {}, { pendingType: 'NEW_DEPLOY' });
  for (let second = 0; second < 60 && (await state()) !== 'PAUSED'; second++) await world.run();
  // Two runs with two tries each, and nothing of it starts any more.
  await world.run(20);
  expect(await launchedFor()).toHaveLength(4);
  expect(await state()).toBe('PAUSED');
  const [event, ...more] = await world.query<{ message: string }>(
    `SELECT message FROM request_history WHERE event_type = 'PAUSED'`,
  );
  expect(event?.message).toMatch(/^The last 2 runs failed \(pauseAfterFailures\), most recently task job-d1-/);
  expect(more).toEqual([]);
  expect(await world.query(`SELECT kill_tasks FROM request_cleanup`)).toEqual([{ kill_tasks: false }]);

  await world.changeRequest('job', {}, 'ACTIVE');
  await world.enqueue({ requestId: 'job', pendingType: 'UNPAUSED' });
  await world.run(8);
  // One failure after the pause is one.
  expect(await state()).not.toBe('PAUSED');
});
