import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  PendingTask,
  PendingTaskId,
  Task,
  TaskHistoryUpdate,
  TaskId,
  TaskRequest,
} from '../../src/core/model/task.js';
import type { TaskIdsByStatus } from '../../src/core/model/request.js';
import { startBalancer } from '../support/load-balancer/balancer-server.js';
import { waitFor } from '../support/wait-for.js';
import { describeKills } from './describe-kills.js';
import { describeShellCommands } from './describe-shell-commands.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed, idsOf, jobs, refusalsOf, serving, unknownTaskId } from './running-tasks.js';

const balancer = await startBalancer();
afterAll(() => balancer.close());

/** Prints its options; waits for a file in the sandbox. */
const flags = { name: 'flags', command: ['/bin/sh', '-c', 'printf "[%s]" "$@"', 'sh'] };
const hold = { name: 'hold', command: ['/bin/sh', '-c', 'until [ -e go ]; do sleep 0.1; done'] };
const operations = operationsOf(['Tasks'], {
  settings: {
    allowedMetadataTypes: ['build', 'note'],
    loadBalancerUri: balancer.uri,
    ui: { shellCommands: [{ name: 'flags', options: [{ name: 'all', description: 'All of it' }] }, { name: 'hold' }] },
  },
  local: { shellCommands: [{ ...flags, options: [{ name: 'all', flag: '-a' }] }, hold] },
});

const refused = refusalsOf(operations);

/** Tasks of one service. Each is for one test: what it does to its task does not concern the others. */
const size = 8;
const pool: TaskId[] = [];
const one = (): TaskId => pool.pop()!;
beforeAll(async () => {
  const command = 'echo hello >page.html; exec sleep 600';
  const tasks = await serving(operations.api, { id: 'pool', instances: size }, { command });
  pool.push(...tasks.map(({ taskId }) => taskId));
}, 60_000);

describe('active tasks', () => {
  test('are listed whole, as ids, with their updates, by slave and by request', async () => {
    const ids = pool.map(({ id }) => id).sort();
    const query = { useWebCache: true };
    const params = { slaveId: 'slave1' };
    for (const tasks of [
      await operations.call<Task[]>('GET /api/tasks/active', 200, { query }),
      await operations.call<Task[]>('GET /api/tasks/active/slave/{slaveId}', 200, { params, query }),
    ]) {
      expect(idsOf(tasks)).toEqual(ids);
      expect(tasks[0]).toMatchObject({
        rackId: 'rack1',
        taskRequest: { request: { id: 'pool', instances: size }, deploy: { id: 'd1' } },
        offer: { hostname: 'localhost', slaveId: { value: 'slave1' } },
      });
    }
    for (const found of [
      await operations.call<TaskId[]>('GET /api/tasks/active/ids', 200, { query }),
      await operations.call<TaskId[]>('GET /api/tasks/active/slave/{slaveId}/ids', 200, { params, query }),
    ])
      expect(found.map(({ id }) => id)).toEqual(ids);
    const states = await operations.call<Record<string, TaskHistoryUpdate[]>>('GET /api/tasks/active/states', 200, {
      query,
    });
    expect(Object.keys(states).sort()).toEqual(ids);
    for (const updates of Object.values(states)) {
      const seen = updates.map(({ taskState }) => taskState);
      expect([seen[0], seen.at(-1)]).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING']);
    }
    const sorted = await operations.call<TaskIdsByStatus>('GET /api/tasks/ids/request/{requestId}', 200, {
      params: { requestId: 'pool' },
    });
    const { healthy, ...others } = sorted;
    expect(healthy.map(({ id }) => id).sort()).toEqual(ids);
    expect(others).toEqual({ notYetHealthy: [], pending: [], cleaning: [], loadBalanced: [], killed: [] });
    const counts = (requestId: string) =>
      operations.call('GET /api/tasks/counts/request/{requestId}', 200, { params: { requestId } });
    expect(await counts('pool')).toEqual({ requestId: 'pool', active: ids.length, pending: 0, cleaning: 0 });
    expect(await counts('nobody')).toEqual({ requestId: 'nobody', active: 0, pending: 0, cleaning: 0 });
  });

  test('of an unknown slave or request are 404, and useWebCache is true or false', async () => {
    const params = { slaveId: 'nobody', requestId: 'nobody' };
    expect(await refused('GET /api/tasks/active/slave/{slaveId}', 404, { params })).toContain("'nobody'");
    expect(await refused('GET /api/tasks/active/slave/{slaveId}/ids', 404, { params })).toContain("'nobody'");
    expect(await refused('GET /api/tasks/ids/request/{requestId}', 404, { params })).toContain("'nobody'");
    const query = { useWebCache: 'perhaps' };
    expect(await refused('GET /api/tasks/active', 400, { query })).toContain('useWebCache');
  });
});

test('an active task is shown, measured and compared with its machine; of another one there is nothing', async () => {
  const { id } = one();
  const params = { taskId: id };
  expect(await operations.call('GET /api/tasks/task/{taskId}', 200, { params })).toMatchObject({ taskId: { id } });
  expect(await operations.call('GET /api/tasks/task/{taskId}/statistics', 200, { params })).toMatchObject({
    cpusLimit: 1,
    memLimitBytes: 16 * 1024 * 1024,
    timestamp: expect.any(Number),
  });
  await operations.call('POST /api/tasks/reconcile/{taskId}', 200, { params });
  await operations.call('GET /api/tasks/task/{taskId}', 200, { params });
  await operations.call('GET /api/tasks/task/{taskId}/cleanup', 404, { params });
  for (const operation of [
    'GET /api/tasks/task/{taskId}',
    'GET /api/tasks/task/{taskId}/statistics',
    'GET /api/tasks/task/{taskId}/cleanup',
    'POST /api/tasks/reconcile/{taskId}',
    'DELETE /api/tasks/task/{taskId}',
  ] as const) {
    expect(await refused(operation, 404, { params: { taskId: unknownTaskId } })).toContain(unknownTaskId);
    expect(await refused(operation, 400, { params: { taskId: 'nothing' } })).toContain('taskId');
  }
});

describe('a waiting task', () => {
  const soon = () => Date.now() + 3_600_000;
  const waiting = (requestId: string) =>
    waitFor('the waiting task', async () => {
      const params = { requestId };
      const query = { useWebCache: true };
      const [found] = await operations.call<TaskRequest[]>('GET /api/tasks/scheduled/request/{requestId}', 200, {
        params,
        query,
      });
      return found;
    });

  test('is listed with its request, deploy and run, and a job that waits can be taken back', async () => {
    await jobs(operations.api, { id: 'later' });
    const run = { runId: 'r1', message: 'go', commandLineArgs: ['a'], envOverrides: { WHERE: 'here' } };
    const runAt = soon();
    await operations.api.post('requests/request/later/run', { ...run, runAt });
    const task = await waiting('later');
    const { pendingTaskId, ...told } = task.pendingTask;
    expect(task).toMatchObject({ request: { id: 'later', requestType: 'ON_DEMAND' }, deploy: { id: 'd1' } });
    expect(told).toMatchObject({ runId: 'r1', message: 'go', cmdLineArgsList: ['a'], envOverrides: run.envOverrides });
    expect(pendingTaskId).toMatchObject({ nextRunAt: runAt, pendingType: 'ONEOFF' });
    const query = { useWebCache: false };
    const { id } = pendingTaskId;
    expect(await operations.call('GET /api/tasks/scheduled', 200, { query })).toContainEqual(task);
    expect(await operations.call('GET /api/tasks/scheduled/ids', 200, { query })).toContainEqual(pendingTaskId);
    const show = 'GET /api/tasks/scheduled/task/{pendingTaskId}';
    expect(await operations.call(show, 200, { params: { pendingTaskId: id } })).toEqual(task);
    const explain = 'GET /api/tasks/scheduled/task/{pendingTaskId}/explain';
    expect(await operations.call(explain, 200, { params: { pendingTaskId: id } })).toMatchObject({ pendingTaskId });

    expect(await operations.call('GET /api/tasks/scheduled/reasons', 200)).toEqual([]);

    const remove = 'DELETE /api/tasks/scheduled/task/{pendingTaskId}';
    const removed = await operations.call<PendingTask>(remove, 200, { params: { pendingTaskId: id } });
    expect(removed).toEqual(task.pendingTask);
    expect(await refused(remove, 404, { params: { pendingTaskId: id } })).toContain(id);
    expect(await refused(show, 404, { params: { pendingTaskId: id } })).toContain(id);
    const left = await operations.call<PendingTaskId[]>('GET /api/tasks/scheduled/ids', 200);
    expect(left.filter(({ requestId }) => requestId === 'later')).toEqual([]);
    expect(await refused(remove, 400, { params: { pendingTaskId: 'nothing' } })).toContain('scheduledTaskId');
    expect(await refused(show, 400, { params: { pendingTaskId: 'nothing' } })).toContain('pendingTaskId');
  });

  test('of a schedule is not taken back', async () => {
    await deployed(operations.api, { id: 'yearly', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    const { pendingTask } = await waiting('yearly');
    const { id } = pendingTask.pendingTaskId;
    const remove = 'DELETE /api/tasks/scheduled/task/{pendingTaskId}';
    expect(await refused(remove, 400, { params: { pendingTaskId: id } })).toContain('ON_DEMAND');
    expect((await waiting('yearly')).pendingTask).toEqual(pendingTask);
  });
});

describeKills(operations, one);

test('a note on a task is shown with its history; its type, title and time have rules', async () => {
  const add = 'POST /api/tasks/task/{taskId}/metadata';
  const params = { taskId: one().id };
  const note = { type: 'build', title: 'Built', message: 'of green wood', level: 'WARN' };
  await operations.call(add, 204, { params, body: note });
  const history = await operations.api.history(params.taskId);
  expect(history.taskMetadata).toMatchObject([{ ...note, taskId: { id: params.taskId } }]);
  expect(await refused(add, 404, { params: { taskId: unknownTaskId }, body: note })).toContain(unknownTaskId);
  for (const [field, body] of [
    ['type', { ...note, type: 'rumour' }],
    ['type', { ...note, type: 'a/b' }],
    ['title', { type: 'note' }],
    ['title', { ...note, title: 'x'.repeat(2_000) }],
    ['message', { ...note, message: 'x'.repeat(10_000) }],
    ['level', { ...note, level: 'LOUD' }],
  ] as const)
    expect(await refused(add, 400, { params, body })).toContain(field);
  await waitFor('two notes of one millisecond', async () => {
    const body = { type: 'note', title: 'again' };
    const twice = Array.from({ length: 10 }, () => refused(add, 409, { params, body }));
    const refusals = (await Promise.allSettled(twice)).filter(({ status }) => status === 'fulfilled');
    return refusals.length > 0;
  });
});

describeShellCommands(operations, one);

test('a file of a task is downloaded or opened by its path on the machine, and no other file', async () => {
  const { directory } = await operations.api.history(one().id);
  const query = { slaveHostname: 'localhost', path: `${directory}/page.html` };
  for (const operation of ['GET /api/tasks/download', 'GET /api/tasks/open'] as const) {
    expect(await operations.call(operation, 200, { query })).toBe('hello\n');
    expect(await refused(operation, 404, { query: { ...query, path: `${directory}/none` } })).toContain('none');
    expect(await refused(operation, 404, { query: { ...query, slaveHostname: 'nobody' } })).toContain('nobody');
    await operations.call(operation, 404, { query: { ...query, path: '/etc/passwd' } });
    expect(await refused(operation, 400, { query: { path: query.path } })).toContain('slaveHostname');
    expect(await refused(operation, 400, { query: { slaveHostname: 'localhost' } })).toContain('path');
  }
});

test('a task that ended waits until the load balancer has taken it out', async () => {
  const [task] = await serving(
    operations.api,
    { id: 'balanced', loadBalanced: true },
    {
      command: 'until [ -e go ]; do sleep 0.1; done',
      serviceBasePath: '/balanced',
      loadBalancerGroups: ['g'],
      resources: { cpus: 0.1, memoryMb: 16, numPorts: 1, diskMb: 0 },
    },
  );
  const waits = async () => {
    const ids = await operations.call<TaskId[]>('GET /api/tasks/lbcleanup', 200);
    return ids.map(({ id }) => id).includes(task!.taskId.id);
  };
  expect(await waits()).toBe(false);
  balancer.mode = 'down';
  writeFileSync(`${(await operations.api.history(task!.taskId.id)).directory}/go`, '');
  await waitFor('the task to end', waits);
  balancer.mode = 'up';
  await waitFor('the load balancer to let it go', async () => !(await waits()));
});

everyOperationWasCalled(operations);
