import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  KilledTaskIdRecord,
  PendingTask,
  PendingTaskId,
  Task,
  TaskCleanup,
  TaskHistoryUpdate,
  TaskId,
  TaskRequest,
  TaskShellCommandHistory,
  TaskShellCommandRequest,
  TaskShellCommandUpdate,
} from '../../src/core/model/task.js';
import type { TaskIdsByStatus } from '../../src/core/model/request.js';
import { startBalancer } from '../support/load-balancer/balancer-server.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed, jobs, refusalsOf, serving, unknownTaskId } from './scene.js';

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
const idsOf = (tasks: { taskId: TaskId }[]) => tasks.map(({ taskId }) => taskId.id);

/** Tasks of one service. Each is for one test: what it does to its task is no affair of the others. */
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

    const remove = 'DELETE /api/tasks/scheduled/task/{scheduledTaskId}';
    const removed = await operations.call<PendingTask>(remove, 200, { params: { scheduledTaskId: id } });
    expect(removed).toEqual(task.pendingTask);
    expect(await refused(remove, 404, { params: { scheduledTaskId: id } })).toContain(id);
    expect(await refused(show, 404, { params: { pendingTaskId: id } })).toContain(id);
    const left = await operations.call<PendingTaskId[]>('GET /api/tasks/scheduled/ids', 200);
    expect(left.filter(({ requestId }) => requestId === 'later')).toEqual([]);
    expect(await refused(remove, 400, { params: { scheduledTaskId: 'nothing' } })).toContain('scheduledTaskId');
    expect(await refused(show, 400, { params: { pendingTaskId: 'nothing' } })).toContain('pendingTaskId');
  });

  test('of a schedule is not taken back', async () => {
    await deployed(operations.api, { id: 'yearly', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    const { pendingTask } = await waiting('yearly');
    const { id } = pendingTask.pendingTaskId;
    const remove = 'DELETE /api/tasks/scheduled/task/{scheduledTaskId}';
    expect(await refused(remove, 400, { params: { scheduledTaskId: id } })).toContain('ON_DEMAND');
    expect((await waiting('yearly')).pendingTask).toEqual(pendingTask);
  });
});

describe('a kill', () => {
  const kill = 'DELETE /api/tasks/task/{taskId}';
  const cleanings = () =>
    operations.call<TaskCleanup[]>('GET /api/tasks/cleaning', 200, { query: { useWebCache: true } });

  test('runs its command first, stands in the way of a second one, and gives way to override', async () => {
    const params = { taskId: one().id };
    const order = { message: 'out', actionId: 'a1', runShellCommandBeforeKill: { name: 'hold' } };
    const cleanup = await operations.call<TaskCleanup>(kill, 200, { params, body: order });
    expect(cleanup).toMatchObject({ cleanupType: 'USER_REQUESTED', message: 'out', actionId: 'a1' });
    expect(cleanup.runBeforeKillId).toMatchObject({ name: 'hold', taskId: { id: params.taskId } });
    expect(await cleanings()).toContainEqual(cleanup);
    expect(await operations.call('GET /api/tasks/task/{taskId}/cleanup', 200, { params })).toEqual(cleanup);
    expect(await operations.call(kill, 409, { params, body: { override: false } })).toMatchObject({ cleanup });

    const forced = await operations.call<TaskCleanup>(kill, 200, { params, body: { override: true } });
    expect(forced.cleanupType).toBe('USER_REQUESTED_DESTROY');
    await waitFor('the end of the task', () => operations.call('GET /api/tasks/task/{taskId}', 404, { params }));
    expect(idsOf(await cleanings())).not.toContain(params.taskId);
    await operations.call(kill, 404, { params });
    expect((await operations.api.history(params.taskId)).taskUpdates.at(-1)?.taskState).toBe('TASK_KILLED');
  });

  test('that was sent is listed until the task ends', async () => {
    // A job: nothing replaces it.
    await jobs(operations.api, { id: 'stubborn' }, { command: 'trap "" TERM; sleep 600 & wait' });
    await operations.api.post('requests/request/stubborn/run');
    const [task] = await operations.api.running('stubborn', 1);
    const params = { taskId: task!.taskId.id };
    const cleanup = await operations.call<TaskCleanup>(kill, 200, { params });
    const record = await waitFor('the kill', async () => {
      const records = await operations.call<KilledTaskIdRecord[]>('GET /api/tasks/killed', 200);
      return records.find(({ taskId }) => taskId.id === params.taskId);
    });
    expect(record).toMatchObject({ taskId: task!.taskId, taskCleanupType: 'USER_REQUESTED', retries: 0 });
    expect(record.originalTimestamp).toBeGreaterThanOrEqual(cleanup.timestamp);
    await operations.call(kill, 200, { params, body: { override: true } });
    await waitFor('the end of the task', async () => {
      const records = await operations.call<KilledTaskIdRecord[]>('GET /api/tasks/killed', 200);
      return !idsOf(records).includes(params.taskId);
    });
  });

  test('that waits for a replacement ends the task when the new one is healthy', async () => {
    const { id, instanceNo } = one();
    const body = { waitForReplacementTask: true, message: 'a fresh one' };
    const cleanup = await operations.call<TaskCleanup>(kill, 200, { params: { taskId: id }, body });
    expect(cleanup).toMatchObject({ cleanupType: 'USER_REQUESTED_TASK_BOUNCE', message: 'a fresh one' });
    const task = await waitFor('the new task in the place of the old one', async () => {
      const tasks = await operations.api.activeTasks('pool');
      return !idsOf(tasks).includes(id) && tasks.find(({ taskId }) => taskId.instanceNo === instanceNo);
    });
    expect(task.taskRequest.pendingTask).toMatchObject({
      pendingTaskId: { pendingType: 'TASK_BOUNCE' },
      message: 'a fresh one',
    });
  });

  test('is refused while its action is off, and for a command that is not configured', async () => {
    const params = { taskId: one().id };
    await operations.api.post('disasters/disabled-actions/KILL_TASK', { message: 'not today' });
    expect(await refused(kill, 409, { params })).toContain('not today');
    await operations.api.call('DELETE', 'disasters/disabled-actions/KILL_TASK');
    const asking = (name: string, options: string[]) => ({ runShellCommandBeforeKill: { name, options } });
    expect(await refused(kill, 403, { params, body: asking('rm', []) })).toContain('runShellCommandBeforeKill.name');
    expect(await refused(kill, 400, { params, body: asking('flags', ['none']) })).toContain('options');
    expect(await refused(kill, 400, { params, body: { override: 'yes' } })).toContain('override');
    await operations.call('GET /api/tasks/task/{taskId}/cleanup', 404, { params });
  });
});

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

describe('a shell command', () => {
  const run = 'POST /api/tasks/task/{taskId}/command';
  const ofTask = 'GET /api/tasks/task/{taskId}/command';
  const order = { name: 'flags', options: ['all'], user: 'me', logfileName: 'mine' };
  const updatesOf = (taskId: string, { timestamp, shellCommand }: TaskShellCommandRequest) => {
    const params = { taskId, commandName: shellCommand.name, commandTimestamp: String(timestamp) };
    const show = 'GET /api/tasks/task/{taskId}/command/{commandName}/{commandTimestamp}';
    return operations.call<TaskShellCommandUpdate[]>(show, 200, { params });
  };

  test('waits while its machine is silent, then runs, and all that became of it is shown', async () => {
    const params = { taskId: one().id };
    const agent = operations.installation.agentPid();
    let sent: TaskShellCommandRequest;
    process.kill(agent, 'SIGSTOP');
    try {
      sent = await operations.call<TaskShellCommandRequest>(run, 200, { params, body: order });
      expect(sent).toMatchObject({ taskId: { id: params.taskId }, shellCommand: order });
      expect(await operations.call('GET /api/tasks/commands/queued', 200)).toEqual([sent]);
      expect(await updatesOf(params.taskId, sent)).toEqual([]);
    } finally {
      process.kill(agent, 'SIGCONT');
    }
    const updates = await waitFor('the end of the command', async () => {
      const found = await updatesOf(params.taskId, sent);
      return found.at(-1)?.updateType === 'FINISHED' && found;
    });
    expect(updates.map(({ updateType }) => updateType)).toEqual(['ACKED', 'STARTED', 'FINISHED']);
    expect(updates[0]).toMatchObject({ shellRequestId: { name: 'flags', timestamp: sent.timestamp } });
    const path = `sandbox/${params.taskId}/read?offset=0&path=${updates.at(-1)?.outputFilename}`;
    expect(await operations.api.get(path)).toMatchObject({ data: expect.stringMatching(/\n\[-a\]$/) });
    expect(await operations.call<TaskShellCommandHistory[]>(ofTask, 200, { params })).toEqual([
      { shellRequest: sent, shellUpdates: updates },
    ]);
    expect(await operations.call('GET /api/tasks/commands/queued', 200)).toEqual([]);
  });

  test('is 403 when there is none of its name, 400 for an unknown option, a task that is not active, or no name', async () => {
    const params = { taskId: one().id };
    expect(await refused(run, 403, { params, body: { name: 'rm' } })).toContain("'rm'");
    expect(await refused(run, 400, { params, body: { name: 'flags', options: ['none'] } })).toContain("'none'");
    expect(await refused(run, 400, { params, body: {} })).toContain('name');
    expect(await refused(run, 400, { params: { taskId: unknownTaskId }, body: order })).toContain('not active');
    expect(await operations.call(ofTask, 200, { params })).toEqual([]);
    expect(await operations.call(ofTask, 200, { params: { taskId: unknownTaskId } })).toEqual([]);
  });
});

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
