import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
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
} satisfies Partial<PendingRequest>;

/** What tasks were launched for, in the order of their launches; those that ended included. */
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
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
  const job = { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 1 } as const;
  await world.deployed(job, {}, { pendingType: 'ONEOFF', ...asked });
  await world.run(6);
  const launches = await launchedFor();
  expect(launches.map(({ pendingTaskId }) => pendingTaskId.pendingType)).toEqual(['ONEOFF', 'RETRY']);
  expect(launches[0]).toMatchObject(asked);
  expect({ ...launches[1], pendingTaskId: undefined }).toEqual({ ...launches[0], pendingTaskId: undefined });
  expect(await retries()).toBe(0);
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
