import { compress } from 'snappyjs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeDeploy, makeRequest, makeTask, start } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { testSettings } from '../../../../test/support/test-app.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import type { DeployHistory } from '../../../core/model/deploy.js';
import type { TaskHistory } from '../../../core/model/task.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { HistoryModule } from '../history.module.js';
import { HistoryBackfill } from './history-backfill.service.js';

let rooms: RoomApp;
const query = <Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]> =>
  rooms.database.pool.query(sql, parameters);
const backfill = () => rooms.app.get(HistoryBackfill);

beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule], settings: testSettings() });
});
afterAll(() => rooms.close());
beforeEach(() => query('TRUNCATE task_history, request_history, deploy_history, history_backfill, unreadable_history'));

const plain = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));
const compressed = (document: unknown): Buffer => Buffer.from(compress(plain(document)));

const taskHistory = (instanceNo: number, commandLineArguments?: string[]): TaskHistory => {
  const task = JSON.parse(JSON.stringify(makeTask({ instanceNo, commandLineArguments })));
  return {
    task,
    taskUpdates: [{ taskId: task.taskId, timestamp: start, taskState: 'TASK_FINISHED', previous: [] }],
    healthcheckResults: [],
    loadBalancerUpdates: [],
    shellCommandHistory: [],
    taskMetadata: [],
  };
};

async function oldTask(instanceNo: number, bytes: Buffer = compressed(taskHistory(instanceNo))): Promise<string> {
  const { taskId } = makeTask({ instanceNo });
  await query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, host, instance_no, started_at, updated_at, bytes)
     VALUES ($1, 'web', 'd1', 'host_1', $2, $3, $4, $5)`,
    [taskId.id, instanceNo, new Date(start), new Date(start + instanceNo), bytes],
  );
  return taskId.id;
}
const oldChange = (eventType: string, bytes: Buffer) =>
  query(`INSERT INTO request_history (request_id, created_at, event_type, bytes) VALUES ('web', $1, $2, $3)`, [
    new Date(start),
    eventType,
    bytes,
  ]);
const oldDeploy = (deployId: string, bytes: Buffer) =>
  query(
    `INSERT INTO deploy_history (request_id, deploy_id, created_at, deploy_state, deploy_state_at, bytes)
     VALUES ('web', $1, $2, 'SUCCEEDED', $3, $4)`,
    [deployId, new Date(start), new Date(start + 5_000), bytes],
  );
const deployHistory = (id: string): DeployHistory => ({
  deployMarker: { requestId: 'web', deployId: id, timestamp: start },
  deployResult: { deployState: 'SUCCEEDED', timestamp: start + 5_000, deployFailures: [] },
  deploy: makeDeploy({ id }),
  deployStatistics: {
    requestId: 'web',
    deployId: id,
    numSuccess: 3,
    numFailures: 0,
    numSequentialRetries: 0,
    instanceSequentialFailureTimestamps: {},
    numTasks: 3,
    taskFailureEvents: [],
  },
});

const finished = () =>
  waitFor('the end of the run', async () => {
    const progress = await backfill().progress();
    return progress.finishedAt !== undefined && !progress.running ? progress : undefined;
  });
const run = async (query = '') => {
  const answer = await rooms.call('POST', `/api/history/sql-backfill${query}`);
  expect(answer).toMatchObject({ status: 200, body: '' });
  return finished();
};

test('compressed and plain payloads of all three kinds become JSON, and the old payload goes', async () => {
  const ids = [await oldTask(1), await oldTask(2, plain(taskHistory(2)))];
  await oldChange('CREATED', compressed(makeRequest()));
  await oldDeploy('d1', plain(deployHistory('d1')));
  expect(await run()).toMatchObject({ tasksConverted: 2, requestsConverted: 1, deploysConverted: 1, unreadable: 0 });
  expect(await query('SELECT task_id, data, bytes FROM task_history ORDER BY instance_no')).toEqual([
    { task_id: ids[0], data: taskHistory(1), bytes: null },
    { task_id: ids[1], data: taskHistory(2), bytes: null },
  ]);
  expect(await query('SELECT request, bytes FROM request_history')).toEqual([{ request: makeRequest(), bytes: null }]);
  expect(await query('SELECT data, bytes FROM deploy_history')).toEqual([{ data: deployHistory('d1'), bytes: null }]);
});

test('members with older names get ours', async () => {
  const { clusterTask: _ours, ...task } = taskHistory(1).task;
  const id = await oldTask(1, plain({ ...taskHistory(1), task: { ...task, mesosTask: { name: 'a' } } }));
  await run();
  const { body } = await rooms.get<TaskHistory>(`/api/history/task/${id}`);
  expect(body.task.clusterTask).toEqual({ name: 'a' });
  expect(body.task).not.toHaveProperty('mesosTask');
});

test('purged rows and rows that are JSON already stay as they are', async () => {
  await oldTask(1);
  await query(`UPDATE task_history SET purged = true`);
  await oldTask(2);
  await query(`UPDATE task_history SET data = '{"task": {}}' WHERE instance_no = 2`);
  expect(await run()).toMatchObject({ tasksConverted: 0, unreadable: 0 });
  expect(await query('SELECT data FROM task_history ORDER BY instance_no')).toEqual([
    { data: null },
    { data: { task: {} } },
  ]);
});

describe('what cannot be read', () => {
  test('is listed with the reason, stays where it is, and does not stop the others', async () => {
    const bad = await oldTask(1, Buffer.from('broken'));
    const noTask = await oldTask(2, plain({ id: 'web' }));
    const nul = await oldTask(3, plain({ ...taskHistory(3), directory: 'a\0b' }));
    await oldTask(4);
    await oldChange('CREATED', Buffer.alloc(0));
    await oldDeploy('d1', Buffer.from([1, 2, 3]));
    expect(await run('?batchSize=1')).toMatchObject({ tasksConverted: 1, unreadable: 5 });
    expect(await query('SELECT kind, key, reason FROM unreadable_history ORDER BY kind, key')).toEqual([
      { kind: 'DEPLOY', key: 'web/d1', reason: 'It is neither JSON nor compressed JSON' },
      { kind: 'REQUEST', key: expect.stringMatching(/^web\/2026-01-05 .*\/CREATED$/), reason: 'It is empty' },
      { kind: 'TASK', key: `web/${bad}`, reason: 'It is neither JSON nor compressed JSON' },
      { kind: 'TASK', key: `web/${noTask}`, reason: "It has no member 'task'" },
      { kind: 'TASK', key: `web/${nul}`, reason: 'directory contains a character that cannot be stored' },
    ]);
    expect(await query('SELECT 1 FROM task_history WHERE bytes IS NOT NULL')).toHaveLength(3);
  });

  test('is tried again by the next run, and leaves the list when it can be read', async () => {
    await oldTask(1, Buffer.from('broken'));
    await run();
    expect(await run()).toMatchObject({ unreadable: 1 });
    expect(await query('SELECT 1 FROM unreadable_history')).toHaveLength(1);
    await query('UPDATE task_history SET bytes = $1', [compressed(taskHistory(1))]);
    expect(await run()).toMatchObject({ tasksConverted: 1, unreadable: 0 });
    expect(await query('SELECT 1 FROM unreadable_history')).toEqual([]);
  });

  test('a task has no details, a change no request, a deploy what its columns tell; all are listed', async () => {
    const id = await oldTask(1, Buffer.from('broken'));
    await oldChange('CREATED', Buffer.from('broken'));
    await oldDeploy('d1', Buffer.from('broken'));
    expect((await rooms.get(`/api/history/task/${id}`)).status).toBe(404);
    expect((await rooms.get('/api/history/tasks/withmetadata')).body).toMatchObject({ dataCount: 1 });
    expect((await rooms.get('/api/history/request/web/requests/withmetadata')).body).toMatchObject({
      dataCount: 1,
      objects: [{ createdAt: start, eventType: 'CREATED' }],
    });
    expect((await rooms.get('/api/history/request/web/deploy/d1')).body).toEqual({
      deployMarker: { requestId: 'web', deployId: 'd1', timestamp: start },
      deployResult: { deployState: 'SUCCEEDED', timestamp: start + 5_000, deployFailures: [] },
    });
  });
});

describe('until the backfill has been there', () => {
  const answers = async (id: string) => [
    await rooms.get(`/api/history/task/${id}`),
    await rooms.get('/api/history/request/web/deploy/d1'),
    await rooms.get('/api/history/request/web/requests'),
    await rooms.get('/api/history/request/web/command-line-args'),
  ];

  test('details are read from the old payload, and read the same afterwards', async () => {
    const id = await oldTask(1, compressed(taskHistory(1, ['--a', 'b'])));
    await oldChange('CREATED', compressed(makeRequest()));
    await oldDeploy('d1', compressed(deployHistory('d1')));
    const bodies = (found: { body: unknown }[]) => found.map(({ body }) => body);
    const before = await answers(id);
    expect(bodies(before)).toEqual([
      taskHistory(1, ['--a', 'b']),
      deployHistory('d1'),
      [{ createdAt: start, eventType: 'CREATED', request: makeRequest() }],
      [['--a', 'b']],
    ]);
    await run();
    expect(bodies(await answers(id))).toEqual(bodies(before));
  });

  test('they are not, where operators do not want it', async () => {
    const id = await oldTask(1);
    const settings = rooms.app.get<Settings>(SETTINGS);
    settings.sqlFallBackToBytesFields = false;
    expect((await rooms.get(`/api/history/task/${id}`)).status).toBe(404);
    settings.sqlFallBackToBytesFields = true;
    expect((await rooms.get(`/api/history/task/${id}`)).status).toBe(200);
  });
});

describe('one run at a time', () => {
  test('a second call while one is under way changes nothing', async () => {
    for (let instanceNo = 1; instanceNo <= 50; instanceNo++) await oldTask(instanceNo);
    await Promise.all(Array.from({ length: 5 }, () => rooms.call('POST', '/api/history/sql-backfill?batchSize=1')));
    expect(await finished()).toMatchObject({ tasksConverted: 50 });
    const runs = await query<{ count: number }>('SELECT tasks_converted AS count FROM history_backfill');
    expect(runs.reduce((sum, each) => sum + each.count, 0)).toBe(50);
  });

  test('the database itself refuses a second one', async () => {
    const begin = `INSERT INTO history_backfill (batch_size, started_at) VALUES (20, now())`;
    const both = rooms.database.pool.transaction(async (tx) => {
      await tx.query(begin);
      await tx.query(begin);
    });
    await expect(both).rejects.toThrow('history_backfill_running');
  });
});

test.each([
  ['batchSize=-1', 'min'],
  ['batchSize=many', 'integer'],
])('%s is refused', async (query, rule) => {
  expect(await rooms.call('POST', `/api/history/sql-backfill?${query}`)).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'batchSize', rule }] },
  });
});

test('without a size a batch has 20 rows, and never more than 1000', async () => {
  await run();
  await run('?batchSize=5000');
  expect(await query('SELECT batch_size FROM history_backfill ORDER BY id')).toEqual([
    { batch_size: 20 },
    { batch_size: 1000 },
  ]);
});
