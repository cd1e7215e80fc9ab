import { beforeAll, describe, expect, test } from 'vitest';
import type { TaskTracking } from '../../src/core/model/task.js';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import { everyOperationWasCalled, operationsOf, type CallInput } from './operations.js';
import { jobs, ran, refusalsOf, unknownTaskId } from './running-tasks.js';

const operations = operationsOf(['Sandbox', 'Task tracking']);
const refused = refusalsOf(operations);

const script = [
  'mkdir logs',
  'printf "one\\ntwo\\nthree\\n" >logs/app.log',
  'printf "\\303\\244\\303\\266" >umlauts',
  'ln -s /etc outside',
].join('; ');
let ended: Required<TaskTracking>;
let taskId: string;
beforeAll(async () => {
  await jobs(operations.api, { id: 'job' }, { command: script });
  ended = await ran(operations.api, 'job', { runId: 'r1' });
  taskId = ended.taskId.id;
}, 60_000);

describe('the files of a task', () => {
  const browse = 'GET /api/sandbox/{taskId}/browse';
  const listed = (query?: CallInput['query']) =>
    operations.call<SandboxListing>(browse, 200, { params: { taskId }, query });

  test('are listed by folder, with what people and clients need to find them on their machine', async () => {
    const root = await listed({ path: '' });
    expect(root.files.map(({ name }) => name)).toEqual(['logs', 'stderr', 'stdout', 'umlauts']);
    expect(root.files[0]!.mode).toMatch(/^d[rwx-]{9}$/);
    expect(root).toMatchObject({ currentDirectory: '', slaveHostname: 'localhost' });
    expect(root.fullPathToRoot).toMatch(/^\/.*\/job-d1-/);
    expect(await listed()).toEqual(root);
    const { files, currentDirectory } = await listed({ path: 'logs/' });
    expect(currentDirectory).toBe('logs');
    expect(files).toEqual([{ name: 'app.log', size: 14, mtime: expect.any(Number), mode: expect.any(String) }]);
    expect(Math.abs(files[0]!.mtime - Date.now() / 1000), 'seconds, not milliseconds').toBeLessThan(600);
  });

  test('are none where there is no such folder; outside of the sandbox there is nothing', async () => {
    expect((await listed({ path: 'none' })).files).toEqual([]);
    for (const path of ['../..', 'logs/../..'])
      expect(await refused(browse, 404, { params: { taskId }, query: { path } })).toContain(path);
    expect((await listed({ path: 'outside' })).files).toEqual([]);
  });
});

describe('a file of a task', () => {
  const read = 'GET /api/sandbox/{taskId}/read';
  const chunk = (query: CallInput['query']) => operations.call(read, 200, { params: { taskId }, query });
  const path = 'logs/app.log';

  test('is read from an offset, in parts, and filtered by lines', async () => {
    expect(await chunk({ path }), 'from its beginning').toEqual({
      data: 'one\ntwo\nthree\n',
      offset: 0,
      nextOffset: 14,
    });
    expect(await chunk({ path, offset: -1 }), 'only its length').toEqual({ data: '', offset: 14, nextOffset: 14 });
    expect(await chunk({ path, offset: 4 })).toEqual({ data: 'two\nthree\n', offset: 4, nextOffset: 14 });
    expect(await chunk({ path, offset: 4, length: 4 })).toEqual({ data: 'two\n', offset: 4, nextOffset: 8 });
    expect(await chunk({ path, offset: 0, length: 0 })).toEqual({ data: '', offset: 14, nextOffset: 14 });
    expect(await chunk({ path, offset: 99 })).toEqual({ data: '', offset: 14, nextOffset: 14 });
    expect(await chunk({ path, offset: 0, grep: '^t' })).toEqual({ data: 'two\nthree\n', offset: 0, nextOffset: 14 });
  });

  test('is cut between characters', async () => {
    expect(await chunk({ path: 'umlauts', offset: 0, length: 3 })).toEqual({ data: 'ä', offset: 0, nextOffset: 2 });
    expect(await chunk({ path: 'umlauts', offset: 1, length: 9 })).toEqual({ data: 'ö', offset: 2, nextOffset: 4 });
  });

  test('is 404 when there is none, 400 for a folder or what makes no sense', async () => {
    for (const none of ['none', '../job', 'outside/passwd'])
      expect(await refused(read, 404, { params: { taskId }, query: { path: none, offset: 0 } })).toContain(none);
    for (const [field, query] of [
      ['path', {}],
      ['path', { path: 'logs', offset: 0 }],
      ['offset', { path, offset: -2 }],
      ['length', { path, offset: 0, length: 'all' }],
      ['grep', { path, offset: 0, grep: '(' }],
    ] as const)
      expect(await refused(read, 400, { params: { taskId }, query: { ...query } })).toContain(field);
  });

  test('is out of reach for an unknown task, and while its machine is silent', async () => {
    const agent = operations.installation.agentPid();
    process.kill(agent, 'SIGSTOP');
    try {
      for (const operation of ['GET /api/sandbox/{taskId}/browse', read] as const)
        expect(await refused(operation, 404, { params: { taskId }, query: { path } })).toContain("'slave1'");
    } finally {
      process.kill(agent, 'SIGCONT');
    }
    for (const operation of ['GET /api/sandbox/{taskId}/browse', read] as const) {
      expect(await refused(operation, 404, { params: { taskId: unknownTaskId }, query: { path } })).toContain('nobody');
      expect(await refused(operation, 400, { params: { taskId: 'nothing' }, query: { path } })).toContain('taskId');
    }
  });
});

describe('tracking', () => {
  const task = 'GET /api/track/task/{taskId}';
  const run = 'GET /api/track/run/{requestId}/{runId}';

  test('shows by task and by run what became of it', async () => {
    expect(ended).toMatchObject({ runId: 'r1', currentState: 'TASK_FINISHED', pending: false });
    expect(ended.taskHistory[0]).toMatchObject({ taskState: 'TASK_LAUNCHED', previous: [] });
    expect(ended.pendingTaskId).toMatchObject({ requestId: 'job', pendingType: 'ONEOFF' });
    expect(await operations.call(task, 200, { params: { taskId } })).toEqual(ended);
    expect(await operations.call(run, 200, { params: { requestId: 'job', runId: 'r1' } })).toEqual(ended);
  });

  test('shows a run that waits', async () => {
    await operations.api.post('requests/request/job/run', { runId: 'r2', runAt: Date.now() + 3_600_000 });
    const waiting = await operations.call(run, 200, { params: { requestId: 'job', runId: 'r2' } });
    expect(waiting).toMatchObject({ runId: 'r2', taskHistory: [], pending: true });
    expect(waiting).not.toHaveProperty('taskId');
  });

  test('is 404 for an unknown task or run, and 400 for what is no task id', async () => {
    expect(await refused(task, 404, { params: { taskId: unknownTaskId } })).toContain(unknownTaskId);
    expect(await refused(run, 404, { params: { requestId: 'job', runId: 'r9' } })).toContain("'r9'");
    expect(await refused(run, 404, { params: { requestId: 'nobody', runId: 'r1' } })).toContain("'nobody'");
    expect(await refused(task, 400, { params: { taskId: 'nothing' } })).toContain('taskId');
  });
});

everyOperationWasCalled(operations);
