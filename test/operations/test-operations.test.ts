import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TaskHistory, TaskId } from '../../src/core/model/task.js';
import { pidsOfTask } from '../e2e/support/processes.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf, type Operations } from './operations.js';
import { jobs, ran, refusalsOf, serving, unknownTaskId } from './running-tasks.js';

/** Allows test operations, and leads at first. */
const open = operationsOf(['Test operations'], {
  settings: {
    allowTestResourceCalls: true,
    historyPurging: { deleteTaskHistoryAfterTasksPerRequest: 1 },
  },
});
const refused = refusalsOf(open);
/** Another instance, which does not allow them. */
let closed: Operations;
let task: TaskId;
let sql: pg.Client;
beforeAll(async () => {
  task = (await serving(open.api, { id: 'web' }))[0]!.taskId;
  await jobs(open.api, { id: 'job' }, { command: 'true' });
  for (const runId of ['r1', 'r2']) await ran(open.api, 'job', { runId });
  closed = await open.another({ MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'false' });
  sql = new pg.Client({ connectionString: open.databaseUrl });
  await sql.connect();
}, 120_000);
afterAll(() => sql?.end());

const plain = [
  'POST /api/test/abort',
  'POST /api/test/notleader',
  'POST /api/test/leader',
  'POST /api/test/stop',
  'POST /api/test/start',
  'POST /api/test/reconnect-cluster',
  'POST /api/test/reconcile',
  'POST /api/test/purge-history',
  'POST /api/test/purge-history/request',
  'POST /api/test/purge-history/deploy',
  'POST /api/test/persist-task-history',
  'POST /api/test/exception',
] as const;
const statusUpdate = 'POST /api/test/scheduler/statusUpdate/{taskId}/{taskState}';

const leads = async ({ api }: Operations): Promise<boolean> =>
  ((await (await fetch(`${api.url}/readyz`)).json()) as { leads: boolean }).leads;
const idsOf = async (list: string): Promise<string[]> =>
  (await open.api.get<{ taskId: TaskId }[]>(list)).map(({ taskId }) => taskId.id);

test('where its operator does not allow them every one of them is 403 and does nothing', async () => {
  const before = await idsOf('history/tasks');
  for (const operation of plain)
    expect(await refusalsOf(closed)(operation, 403), operation).toContain('allowTestResourceCalls');
  const params = { taskId: task.id, taskState: 'TASK_LOST' };
  await closed.call(statusUpdate, 403, { params });
  expect([await leads(open), await leads(closed)]).toEqual([true, false]);
  expect(await idsOf('tasks/active')).toEqual([task.id]);
  expect(await idsOf('history/tasks')).toEqual(before);
});

describe('a purge', () => {
  const age = (table: string, where: string) =>
    sql.query(`UPDATE ${table} SET created_at = now() - interval '400 days' WHERE ${where}`);
  const changes = () => open.api.get<object[]>('history/request/job/requests');
  const deploys = async () =>
    (await open.api.get<{ deployMarker: { deployId: string } }[]>('history/request/job/deploys')).map(
      ({ deployMarker }) => deployMarker.deployId,
    );
  beforeAll(async () => {
    await jobs(open.api, { id: 'job' }, { id: 'd2', command: 'true' });
    await waitFor('the second deploy', async () => (await deploys()).length === 2);
  });

  test('of requests removes old changes alone, one of deploys old deploys that nothing needs', async () => {
    await age('request_history', "request_id = 'job'");
    await age('deploy_history', "request_id = 'job'");
    await open.call('POST /api/test/purge-history/request', 204);
    expect(await changes()).toEqual([]);
    expect(await deploys()).toHaveLength(2);
    await open.call('POST /api/test/purge-history/deploy', 204);
    expect(await deploys()).toEqual(['d2']);
    expect(await idsOf('history/request/job/tasks')).toHaveLength(2);
  });

  test('of all keeps as many tasks of a request as the settings say', async () => {
    const [newest] = await idsOf('history/request/job/tasks');
    await open.call('POST /api/test/purge-history', 204);
    expect(await idsOf('history/request/job/tasks')).toEqual([newest]);
  });
});

test('tasks that have ended go to the history when any instance is told so', async () => {
  await open.call('POST /api/test/persist-task-history', 204);
});

test('an exception is 500, and its message stands in the log alone', async () => {
  const answer = await open.call('POST /api/test/exception', 500, { query: { message: 'a rabbit hole' } });
  expect(answer).toMatchObject({ code: 'TEST_EXCEPTION' });
  expect(JSON.stringify(answer)).not.toContain('rabbit');
  await waitFor('the log', () => open.instance.output.includes('a rabbit hole'));
  await open.call('POST /api/test/exception', 500);
  await waitFor('the message that none given stands for', () => open.instance.output.includes('test exception'));
});

test('a reconciliation leaves its figures, a new connection the tasks as they are', async () => {
  const reconciled = () => open.api.get<{ taskReconciliationStartedAt: number }>('state/task-reconciliation');
  const begun = Date.now();
  await open.call('POST /api/test/reconcile', 204);
  await waitFor('the figures', async () => (await reconciled()).taskReconciliationStartedAt >= begun);
  await open.call('POST /api/test/reconnect-cluster', 204);
  expect(await idsOf('tasks/active')).toEqual([task.id]);
  await open.api.running('web', 1);
});

test('a status is forced on an active task, and no other; one that ends it ends its processes', async () => {
  const lost = task.id;
  expect(pidsOfTask(lost)).not.toEqual([]);
  await open.call(statusUpdate, 204, { params: { taskId: lost, taskState: 'TASK_LOST' } });
  const { taskUpdates } = await open.api.get<TaskHistory>(`history/task/${lost}`);
  expect(taskUpdates.at(-1)).toMatchObject({ taskState: 'TASK_LOST' });
  task = (await open.api.running('web', 1))[0]!.taskId;
  expect(task.id).not.toBe(lost);
  await waitFor('its processes to be gone', () => pidsOfTask(lost).length === 0);
  const params = { taskId: task.id, taskState: 'TASK_HAPPY' };
  expect(await refused(statusUpdate, 400, { params })).toContain('taskState');
  const unknown = { taskId: unknownTaskId, taskState: 'TASK_LOST' };
  expect(await refused(statusUpdate, 404, { params: unknown })).toContain(unknownTaskId);
  expect(await refused(statusUpdate, 400, { params: { ...unknown, taskId: 'nothing' } })).toContain('taskId');
});

describe('the leadership', () => {
  const handedOver = (from: Operations, to: Operations) =>
    waitFor('the other one to lead', async () => !(await leads(from)) && (await leads(to)));

  test('is given up by stop until start, and what only a leader can do is 409 meanwhile', async () => {
    await open.call('POST /api/test/stop', 204);
    await handedOver(open, closed);
    for (const operation of ['POST /api/test/reconcile', 'POST /api/test/reconnect-cluster'] as const)
      expect(await open.call(operation, 409)).toMatchObject({ code: 'NOT_LEADER' });
    await open.call(statusUpdate, 409, { params: { taskId: task.id, taskState: 'TASK_LOST' } });
    await closed.instance.stop();
    expect(await leads(open)).toBe(false);
    await open.call('POST /api/test/start', 204);
    await waitFor('it to lead again', () => leads(open));
  });

  test('is taken by leader, and lost by abort and notleader; the tasks run on', async () => {
    closed = await open.another({ MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'false' });
    for (const operation of ['POST /api/test/abort', 'POST /api/test/notleader'] as const) {
      await open.call(operation, 204);
      await handedOver(open, closed);
      await open.call('POST /api/test/leader', 204);
      await handedOver(closed, open);
    }
    expect(await idsOf('tasks/active')).toEqual([task.id]);
  });
});

everyOperationWasCalled(open);
