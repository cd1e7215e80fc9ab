import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertRequest,
  insertTask,
  makeDeploy,
  makeRequest,
  makeTask,
  start,
  type TaskRow,
} from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { RequestEventType, TaskState } from '../../core/model/enums.js';
import type { TaskHistory, TaskId, TaskIdHistory } from '../../core/model/task.js';
import { HistoryModule } from './history.module.js';
import type { Page } from './paging.js';
import { TaskHistoryMoveRepository } from './task-history-move.repository.js';

const second = 1_000;
let rooms: RoomApp;
const tx = () => rooms.database.pool;

beforeAll(async () => {
  rooms = await startRooms({ modules: [HistoryModule] });
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx().query(
    `TRUNCATE task, task_launch, task_update, task_healthcheck, task_history, request, deploy_history, request_history,
       deploy_statistics`,
  ),
);

const insert = (row: TaskRow = {}): Promise<TaskId> => insertTask(tx(), row);
/** A task that ended `seconds` after `start`, live or already in the history. */
async function ended(seconds: number, row: TaskRow & { state?: TaskState; live?: boolean } = {}): Promise<TaskId> {
  const { state = 'TASK_FINISHED', live = false, ...rest } = row;
  const taskId = await insert({ ...rest, updates: [[state, start + seconds * second]] });
  const writer = rooms.app.get(TaskHistoryMoveRepository);
  if (!live) await rooms.database.leaderTransaction((leader) => writer.move(leader, [taskId.id]));
  return taskId;
}
const ids = async (path: string): Promise<string[]> => {
  const { status, body } = await rooms.get<TaskIdHistory[] | Page<TaskIdHistory>>(path);
  expect(status).toBe(200);
  return ('objects' in body ? body.objects : body).map((entry) => entry.taskId.id);
};

describe('searching ended tasks', () => {
  test('each entry has id, time, state and run', async () => {
    const taskId = await ended(5, { runId: 'r1', state: 'TASK_FAILED' });
    expect((await rooms.get('/api/history/tasks')).body).toEqual([
      { taskId, updatedAt: start + 5 * second, runId: 'r1', lastTaskState: 'TASK_FAILED' },
    ]);
  });

  test('pages with metadata and active tasks tell where runs come from', async () => {
    const first = { trigger: 'AFTER', flowId: 'f1' } as const;
    const second = { trigger: 'RETRY', attempt: 2, flowId: 'f1' } as const;
    await ended(5, { runId: 'r1', origin: first });
    await ended(6, { instanceNo: 2, runId: 'r1', origin: second, live: true });
    await ended(7, { instanceNo: 3, origin: first });
    await insert({ instanceNo: 4, runId: 'r2', origin: second });
    const page = await rooms.get<Page<TaskIdHistory>>('/api/history/request/web/tasks/withmetadata?skipZk=false');
    const [plain, retried, followed] = page.body.objects;
    expect(plain).not.toHaveProperty('trigger');
    expect([retried, followed]).toMatchObject([{ runId: 'r1', ...second }, first]);
    expect(followed).not.toHaveProperty('attempt');
    expect((await rooms.get('/api/history/request/web/tasks/active')).body).toMatchObject([{ runId: 'r2', ...second }]);
    const oldest = '/api/history/request/web/tasks/withmetadata?skipZk=false&orderDirection=ASC';
    expect((await rooms.get<Page<TaskIdHistory>>(oldest)).body.objects.map(({ taskId }) => taskId.instanceNo)).toEqual([
      1, 2, 3,
    ]);
  });

  test('both tiers in one order, active tasks in neither', async () => {
    await insert({ instanceNo: 9, updates: [['TASK_RUNNING', start]] });
    const second2 = (await ended(2, { instanceNo: 1 })).id;
    const second3 = (await ended(3, { instanceNo: 2, live: true })).id;
    const second1 = (await ended(1, { instanceNo: 3, live: true })).id;
    expect(await ids('/api/history/request/web/tasks')).toEqual([second3, second2, second1]);
    expect(await ids('/api/history/request/web/tasks?orderDirection=asc')).toEqual([second1, second2, second3]);
    expect(await ids('/api/history/request/web/tasks?skipZk=true')).toEqual([second2]);
    expect(await ids('/api/history/tasks')).toEqual([second2]);
    expect(await ids('/api/history/tasks?skipZk=false')).toEqual([second3, second2, second1]);
    expect(await ids('/api/history/request/web/tasks/withmetadata')).toEqual([second2]);
    expect(await ids('/api/history/request/other/tasks')).toEqual([]);
  });

  test('filters must all hold, bounds are exclusive', async () => {
    const plain = (await ended(10)).id;
    const other = (
      await ended(20, {
        requestId: 'other-one',
        deployId: 'd2',
        host: 'host-2',
        startedAt: start + 5 * second,
        runId: 'r2',
        state: 'TASK_KILLED',
        live: true,
      })
    ).id;
    const at = (seconds: number) => start + seconds * second;
    for (const [filter, found] of [
      ['requestId=other-one', [other]],
      ['deployId=d1', [plain]],
      ['runId=r2', [other]],
      ['host=host-2', [other]],
      ['host=host_2', [other]],
      ['lastTaskStatus=TASK_KILLED', [other]],
      ['lastTaskStatus=task_finished', [plain]],
      [`startedAfter=${at(0)}`, [other]],
      [`startedAfter=${new Date(at(0)).toISOString()}`, [other]],
      [`startedBefore=${at(5)}`, [plain]],
      [`updatedAfter=${at(10)}`, [other]],
      [`updatedBefore=${at(20)}`, [plain]],
      [`updatedAfter=${at(9)}&updatedBefore=${at(11)}&host=host-1`, [plain]],
      ['deployId=d1&host=host-2', []],
      ['deployId=&host=undefined&runId=null&updatedAfter=0&count=0&page=0', [other, plain]],
    ] as [string, string[]][]) {
      expect(await ids(`/api/history/tasks?skipZk=false&${filter}`), filter).toEqual(found);
    }
  });

  test('a page knows how many there are', async () => {
    for (let instanceNo = 1; instanceNo <= 5; instanceNo++)
      await ended(instanceNo, { instanceNo, live: instanceNo > 3 });
    const page = (query: string) =>
      rooms.get<Page<TaskIdHistory>>(`/api/history/request/web/tasks/withmetadata?${query}`);
    expect((await page('count=2&skipZk=false')).body).toMatchObject({ dataCount: 5, pageCount: 3, page: 1 });
    expect((await page('count=2')).body).toMatchObject({ dataCount: 3, pageCount: 2, page: 1 });
    const instances = async (query: string) => (await page(query)).body.objects.map((entry) => entry.taskId.instanceNo);
    expect(await instances('count=2&skipZk=false')).toEqual([5, 4]);
    expect(await instances('count=2&skipZk=false&page=2')).toEqual([3, 2]);
    expect(await instances('count=2&skipZk=false&page=3')).toEqual([1]);
    expect((await page('count=2&skipZk=false&page=4')).body).toEqual({
      dataCount: 5,
      pageCount: 3,
      page: 4,
      objects: [],
    });
    expect((await page('count=100000')).body).toMatchObject({ dataCount: 3, pageCount: 1 });
  });

  test('of one deploy', async () => {
    const moved = (await ended(1)).id;
    const live = (await ended(2, { instanceNo: 2, live: true })).id;
    await ended(3, { deployId: 'd2' });
    const path = '/api/history/request/web/deploy/d1/tasks/inactive';
    expect(await ids(path)).toEqual([moved]);
    expect(await ids(`${path}?skipZk=false`)).toEqual([live, moved]);
    expect((await rooms.get(`${path}/withmetadata?skipZk=false&count=1`)).body).toMatchObject({
      dataCount: 2,
      pageCount: 2,
    });
  });

  test.each([
    ['count=-1', 'count', 'min'],
    ['page=-1', 'page', 'min'],
    ['count=abc', 'count', 'integer'],
    ['count=1.5', 'count', 'integer'],
    ['lastTaskStatus=TASK_HAPPY', 'lastTaskStatus', 'oneOf'],
    ['orderDirection=UP', 'orderDirection', 'oneOf'],
    ['skipZk=banana', 'skipZk', 'type'],
    ['updatedAfter=yesterday', 'updatedAfter', 'integer'],
  ])('%s is refused', async (query, field, rule) => {
    for (const path of ['tasks', 'tasks/withmetadata', 'request/web/tasks', 'request/web/tasks/withmetadata']) {
      expect(await rooms.get(`/api/history/${path}?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'INVALID_PARAMETER', errors: [{ field, rule }] },
      });
    }
  });
});

test('active tasks come with their newest update first', async () => {
  const running = await insert({ updates: [['TASK_RUNNING', start + 1 * second]] });
  const cleaning = await insert({
    instanceNo: 2,
    deployId: 'd2',
    updates: [
      ['TASK_RUNNING', start + 1 * second],
      ['TASK_CLEANING', start + 2 * second],
    ],
  });
  const launched = await insert({ instanceNo: 3 });
  await ended(9, { instanceNo: 4 });
  expect((await rooms.get('/api/history/request/web/tasks/active')).body).toEqual([
    { taskId: cleaning, updatedAt: start + 2 * second, lastTaskState: 'TASK_CLEANING' },
    { taskId: running, updatedAt: start + 1 * second, lastTaskState: 'TASK_RUNNING' },
    { taskId: launched, updatedAt: start, lastTaskState: 'TASK_LAUNCHED' },
  ]);
  expect(await ids('/api/history/request/web/deploy/d2/tasks/active')).toEqual([cleaning.id]);
});

describe('one task', () => {
  test('reads the same before and after it moved', async () => {
    const row: TaskRow = { directory: '/sandbox', runId: 'r1' };
    await insertDeploy(rooms.database.pool);
    const taskId = await ended(5, { ...row, live: true });
    const before = await rooms.get(`/api/history/task/${taskId.id}`);
    expect(before.status).toBe(200);
    expect(before.body).toEqual({
      task: JSON.parse(JSON.stringify(makeTask(row))),
      directory: '/sandbox',
      taskUpdates: [
        { taskId, timestamp: start, taskState: 'TASK_LAUNCHED', previous: [] },
        { taskId, timestamp: start + 5 * second, taskState: 'TASK_FINISHED', previous: [] },
      ],
      healthcheckResults: [],
      loadBalancerUpdates: [],
      shellCommandHistory: [],
      taskMetadata: [],
    });
    const writer = rooms.app.get(TaskHistoryMoveRepository);
    await rooms.database.leaderTransaction((leader) => writer.move(leader, [taskId.id]));
    expect((await rooms.get(`/api/history/task/${taskId.id}`)).body).toEqual(before.body);
  });

  test('is complete while it moves', async () => {
    const taskId = await ended(5, { live: true });
    const writer = rooms.app.get(TaskHistoryMoveRepository);
    const { reading } = await rooms.database.leaderTransaction(async (leader) => {
      await leader.query('LOCK TABLE task_update IN ACCESS EXCLUSIVE MODE');
      const reading = rooms.get<TaskHistory>(`/api/history/task/${taskId.id}`);
      const waits = `SELECT 1 FROM pg_locks WHERE relation = 'task_update'::regclass AND NOT granted`;
      await waitFor('the reader to wait', async () => (await leader.query<unknown[]>(waits)).length > 0);
      await writer.move(leader, [taskId.id]);
      return { reading };
    });
    const { status, body } = await reading;
    expect(status).toBe(200);
    expect(body.taskUpdates.map(({ taskState }) => taskState)).toEqual(['TASK_LAUNCHED', 'TASK_FINISHED']);
  });

  test('a purged one is listed but has no details', async () => {
    const { id } = await ended(5);
    await tx().query('UPDATE task_history SET data = NULL, purged = true');
    expect(await rooms.get(`/api/history/task/${id}`)).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
    expect(await ids('/api/history/tasks')).toEqual([id]);
  });

  test.each([
    ['nope', 400],
    ['web-d1-1-1-nowhere-rack', 404],
  ])('%s answers %i', async (id, status) => {
    expect(await rooms.get(`/api/history/task/${id}`)).toMatchObject({ status });
  });
});

describe('a run', () => {
  test('is its newest task, active ones included', async () => {
    await ended(5, { runId: 'r1' });
    const retry = await insert({ runId: 'r1', startedAt: start + 6 * second });
    await insert({ runId: 'r2', startedAt: start + 7 * second });
    expect(await rooms.get('/api/history/request/web/run/r1')).toMatchObject({
      status: 200,
      body: { taskId: retry, runId: 'r1', lastTaskState: 'TASK_LAUNCHED' },
    });
  });

  test('that is unknown is not found', async () => {
    await ended(5, { runId: 'r1' });
    for (const path of ['web/run/r9', 'other/run/r1']) {
      expect(await rooms.get(`/api/history/request/${path}`)).toMatchObject({
        status: 404,
        body: { code: 'RUN_NOT_FOUND' },
      });
    }
  });
});

test('arguments of the newest tasks, each list once, the newest first', async () => {
  await ended(1, { instanceNo: 1, commandLineArguments: ['too', 'old'] });
  await ended(2, { instanceNo: 2, commandLineArguments: ['--a', 'b'] });
  await ended(3, { instanceNo: 3, commandLineArguments: [] });
  await ended(4, { instanceNo: 4 });
  await ended(5, { instanceNo: 5, commandLineArguments: ['c'] });
  await ended(6, { instanceNo: 6, commandLineArguments: ['--a', 'b'] });
  await ended(7, { instanceNo: 7, commandLineArguments: ['live'], live: true });
  const path = '/api/history/request/web/command-line-args';
  expect((await rooms.get(path)).body).toEqual([['--a', 'b'], ['c']]);
  expect((await rooms.get(`${path}?count=1`)).body).toEqual([['--a', 'b']]);
  expect((await rooms.get(`${path}?count=2&skipZk=false`)).body).toEqual([['live'], ['--a', 'b']]);
  expect((await rooms.get(`${path}?count=5000`)).body).toContainEqual(['too', 'old']);
});

describe('deploys', () => {
  const result = {
    deployState: 'FAILED' as const,
    message: 'A task failed',
    timestamp: start + 9 * second,
    deployFailures: [{ reason: 'TASK_FAILED_ON_STARTUP' as const }],
  };

  test('one is complete', async () => {
    await insertDeploy(tx(), { user: 'ada@example.org', message: 'first', result });
    await tx().query(
      `INSERT INTO deploy_statistics (request_id, deploy_id, num_tasks, num_failures, last_finish_at, last_task_state,
         average_runtime_millis, failure_events)
       VALUES ('web', 'd1', 2, 1, $1, 'TASK_FAILED', 1500, $2)`,
      [new Date(start), JSON.stringify([{ instance: 1, timestamp: start, type: 'OOM' }])],
    );
    expect((await rooms.get('/api/history/request/web/deploy/d1')).body).toEqual({
      deployResult: result,
      deployMarker: {
        requestId: 'web',
        deployId: 'd1',
        timestamp: start,
        user: 'ada@example.org',
        message: 'first',
      },
      deploy: makeDeploy(),
      deployStatistics: {
        requestId: 'web',
        deployId: 'd1',
        numTasks: 2,
        numSuccess: 0,
        numFailures: 1,
        numSequentialRetries: 0,
        lastFinishAt: start,
        lastTaskState: 'TASK_FAILED',
        averageRuntimeMillis: 1500,
        instanceSequentialFailureTimestamps: {},
        taskFailureEvents: [{ instance: 1, timestamp: start, type: 'OOM' }],
      },
    });
    expect(await rooms.get('/api/history/request/web/deploy/d9')).toMatchObject({
      status: 404,
      body: { code: 'DEPLOY_NOT_FOUND' },
    });
  });

  test('lists are short and newest first; a deploy in progress has no result and no statistics', async () => {
    await insertDeploy(tx(), { result });
    await insertDeploy(tx(), { deploy: { id: 'd2' }, createdAt: start + 20 * second });
    const expected = [
      { deployMarker: { requestId: 'web', deployId: 'd2', timestamp: start + 20 * second } },
      { deployMarker: { requestId: 'web', deployId: 'd1', timestamp: start }, deployResult: result },
    ];
    for (const skipZk of [true, false]) {
      expect((await rooms.get(`/api/history/request/web/deploys?skipZk=${skipZk}`)).body).toEqual(expected);
    }
    expect((await rooms.get('/api/history/request/web/deploys?count=1&page=2')).body).toEqual([expected[1]]);
    expect((await rooms.get('/api/history/request/web/deploys/withmetadata?count=1')).body).toEqual({
      dataCount: 2,
      pageCount: 2,
      page: 1,
      objects: [expected[0]],
    });
    expect((await rooms.get('/api/history/request/nope/deploys')).body).toEqual([]);
    expect(Object.keys((await rooms.get<object>('/api/history/request/web/deploy/d2')).body)).toEqual([
      'deployMarker',
      'deploy',
    ]);
  });
});

describe('changes of requests', () => {
  const record = (requestId: string, eventType: RequestEventType, at: number, user?: string) =>
    tx().query(
      `INSERT INTO request_history (request_id, created_at, event_type, user_name, request) VALUES ($1, $2, $3, $4, $5)`,
      [requestId, new Date(at), eventType, user ?? null, JSON.stringify(makeRequest({ id: requestId }))],
    );

  test('newest first, with the request as it was', async () => {
    await record('web', 'CREATED', start, 'ada');
    await record('web', 'SCALED', start + 1);
    const expected = [
      { createdAt: start + 1, eventType: 'SCALED', request: makeRequest() },
      { createdAt: start, eventType: 'CREATED', user: 'ada', request: makeRequest() },
    ];
    expect((await rooms.get('/api/history/request/web/requests')).body).toEqual(expected);
    expect((await rooms.get('/api/history/request/web/requests?count=1&page=2')).body).toEqual([expected[1]]);
    expect((await rooms.get('/api/history/request/web/requests/withmetadata')).body).toEqual({
      dataCount: 2,
      pageCount: 1,
      page: 1,
      objects: expected,
    });
    expect((await rooms.get('/api/history/request/nope/requests')).body).toEqual([]);
  });

  test('of a span of time, oldest first when asked so; the bounds are exclusive', async () => {
    for (const n of [0, 1, 2, 3]) await record('web', 'UPDATED', start + n);
    const times = async (query: string): Promise<number[]> => {
      const { body } = await rooms.get<{ createdAt: number }[]>(`/api/history/request/web/requests?${query}`);
      return body.map(({ createdAt }) => createdAt - start);
    };
    const span = `createdAfter=${start}&createdBefore=${start + 3}`;
    expect(await times(span)).toEqual([2, 1]);
    expect(await times(`${span}&orderDirection=ASC&count=1`)).toEqual([1]);
    expect(await times('orderDirection=ASC&createdBefore=0&createdAfter=0')).toEqual([0, 1, 2, 3]);
    expect((await rooms.get(`/api/history/request/web/requests/withmetadata?${span}`)).body).toMatchObject({
      dataCount: 2,
    });
    expect((await rooms.get('/api/history/request/web/requests?orderDirection=UP')).status).toBe(400);
  });

  test('ids of requests that ever were are found by how they begin', async () => {
    for (const id of ['web', 'web-2', 'Web', 'a_b', 'axb', 'a%b', 'a\\b']) await record(id, 'CREATED', start);
    await record('web', 'DELETED', start + 1);
    const search = async (query: string) => (await rooms.get(`/api/history/requests/search?${query}`)).body;
    expect(await search('requestIdLike=web')).toEqual(['web', 'web-2']);
    expect(await search('requestIdLike=web&count=1&page=2&useWebCache=true')).toEqual(['web-2']);
    expect(await search('requestIdLike=a_')).toEqual(['a_b']);
    expect(await search('requestIdLike=a%25')).toEqual(['a%b']);
    expect(await search('requestIdLike=a%5C')).toEqual(['a\\b']);
    expect(await search('requestIdLike=zzz')).toEqual([]);
    expect(await rooms.get('/api/history/requests/search')).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'requestIdLike', rule: 'required' }] },
    });
  });
});

test('dataCount and objects of one answer agree while tasks end', async () => {
  await insertRequest(tx());
  let stop = false;
  const ending = (async () => {
    for (let instanceNo = 1; !stop && instanceNo <= 300; instanceNo++) await ended(instanceNo, { instanceNo });
  })();
  for (let round = 0; round < 20; round++) {
    const path = '/api/history/request/web/tasks/withmetadata?skipZk=false&count=1000';
    const { body } = await rooms.get<Page<TaskIdHistory>>(path);
    expect(body.objects.length).toBe(body.dataCount);
  }
  stop = true;
  await ending;
});
