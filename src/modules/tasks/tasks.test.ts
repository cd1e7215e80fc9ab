import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  makeRequest,
  makeTask,
  start,
  type TaskRow,
} from '../../../test/support/builders.js';
import { FileDriver } from '../../../test/support/file-driver.js';
import { type Answer, startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { TaskStatistics } from '../../cluster/cluster-driver.js';
import type { TaskIdsByStatus } from '../../core/model/request.js';
import type {
  PendingTaskId,
  Task,
  TaskCleanup,
  TaskHistoryUpdate,
  TaskId,
  TaskRequest,
} from '../../core/model/task.js';
import { makePendingTaskId } from '../../core/task-id.js';
import { ErrorDto } from '../../platform/http/error.dto.js';
import { Wake, type WakeTopic } from '../../platform/wake/wake.js';
import { KilledTaskRepository } from './killed-task.repository.js';
import { TaskCleanupRepository } from './task-cleanup.repository.js';
import { TasksModule } from './tasks.module.js';

const driver = new FileDriver();
let rooms: RoomApp;
/** The room for clients of version 1.5 of the API. */
let older: RoomApp;
let woken: WakeTopic[] = [];

beforeAll(async () => {
  rooms = await startRooms({ modules: [TasksModule], driver });
  const settings = { compatibility: '1.5' as const };
  older = await startRooms({ modules: [TasksModule], driver, settings, databaseUrl: rooms.databaseUrl });
  for (const topic of ['cleanup', 'scheduler', 'reconcile'] as const) {
    rooms.app.get(Wake).on(topic, () => woken.push(topic));
  }
});
afterAll(async () => {
  await older.close();
  await rooms.close();
});
beforeEach(async () => {
  woken = [];
  driver.unreachable.clear();
  await rooms.database.pool.query(
    `TRUNCATE task, task_launch, task_update, task_cleanup, killed_task, pending_task, pending_request, request, deploy_history,
       pending_deploy, slave`,
  );
});

const insert = (row: TaskRow = {}): Promise<TaskId> => insertTask(rooms.database.pool, row);
const running: TaskRow = { updates: [['TASK_RUNNING', start + 1_000]] };
const ended: TaskRow = { updates: [['TASK_FAILED', start + 1_000]] };
const tx = () => rooms.database.pool;
const insertSlave = (id: string) =>
  tx().query(
    `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
     VALUES ($1, 'host-1', 'rack-1', '{}', '{}', 'a', 'i', now(), now(), 'DEAD', now())`,
    [id],
  );
/** As a client reads it: members without a value are not there. */
const asAnswer = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** All pages of a list, from one to the next as the answers say. */
async function pagesOf<Row>(path: string, limit: number): Promise<Row[][]> {
  const pages: Row[][] = [];
  for (let cursor: string | null = '*'; cursor !== null;) {
    const answer: Answer<Row[]> = await rooms.get(`${path}?limit=${limit}&cursor=${cursor}`);
    expect([path, answer.status]).toEqual([path, 200]);
    pages.push(answer.body);
    cursor = answer.headers.get('x-next-cursor');
  }
  return pages;
}

describe('lists of active tasks', () => {
  test('in pages have each task once, in the order of ids', async () => {
    await insertSlave('s1');
    await insertSlave('s2');
    await insertDeploy(tx());
    for (const instanceNo of [3, 1, 4]) await insert({ ...running, instanceNo });
    await insert({ ...running, instanceNo: 2, slaveId: 's2' });
    await insert({ ...ended, instanceNo: 5 });
    const numbersOf = (pages: { instanceNo: number }[][]) => pages.map((page) => page.map((id) => id.instanceNo));
    const ofRecords = async (path: string, limit: number) =>
      numbersOf((await pagesOf<Task>(path, limit)).map((page) => page.map(({ taskId }) => taskId)));
    const inPairs = [
      [1, 2],
      [3, 4],
    ];
    expect(numbersOf(await pagesOf<TaskId>('/api/tasks/active/ids', 2))).toEqual(inPairs);
    expect(await ofRecords('/api/tasks/active', 2)).toEqual(inPairs);
    expect(numbersOf(await pagesOf<TaskId>('/api/tasks/active/slave/s1/ids', 2))).toEqual([[1, 3], [4]]);
    expect(await ofRecords('/api/tasks/active/slave/s1', 1)).toEqual([[1], [3], [4]]);
    expect((await pagesOf('/api/tasks/active', 5)).flat()).toEqual((await rooms.get('/api/tasks/active')).body);
    expect(await rooms.get('/api/tasks/active/slave/s9?cursor=*')).toMatchObject({ status: 404 });
    expect(await rooms.get('/api/tasks/active?cursor=abc')).toMatchObject({ status: 400 });
  });

  test('are current at each call, although what was read of a task is kept', async () => {
    await insertDeploy(tx());
    const first = await insert(running);
    const listed = async () => {
      const tasks = (await rooms.get<Task[]>('/api/tasks/active')).body.map((task) => task.taskId);
      expect((await rooms.get('/api/tasks/active/ids')).body).toEqual(tasks);
      return tasks.map(({ id }) => id);
    };
    expect(await listed()).toEqual([first.id]);
    const second = await insert({ instanceNo: 2 });
    expect(await listed()).toEqual([first.id, second.id]);
    await tx().query('UPDATE task SET ended_at = now() WHERE task_id = $1', [first.id]);
    expect(await listed()).toEqual([second.id]);
  });

  test('ended ones are not in them', async () => {
    await insertDeploy(tx());
    const first = await insert(running);
    const second = await insert({ instanceNo: 2 });
    await insert({ ...ended, instanceNo: 3 });
    expect((await rooms.get('/api/tasks/active')).body).toEqual([
      asAnswer(makeTask()),
      asAnswer(makeTask({ instanceNo: 2 })),
    ]);
    expect((await rooms.get('/api/tasks/active/ids?useWebCache=true')).body).toEqual([first, second]);
    expect((await rooms.get('/api/tasks/active/states')).body).toEqual({
      [first.id]: [
        { taskId: first, timestamp: start, taskState: 'TASK_LAUNCHED', previous: [] },
        { taskId: first, timestamp: start + 1_000, taskState: 'TASK_RUNNING', previous: [] },
      ],
      [second.id]: [{ taskId: second, timestamp: start, taskState: 'TASK_LAUNCHED', previous: [] }],
    });
  });

  test('of one slave, whatever its state', async () => {
    await insertSlave('s1');
    await insertSlave('s2');
    await insertDeploy(tx());
    const here = await insert(running);
    await insert({ ...running, instanceNo: 2, slaveId: 's2' });
    expect((await rooms.get('/api/tasks/active/slave/s1')).body).toEqual([asAnswer(makeTask())]);
    expect((await rooms.get('/api/tasks/active/agent/s1/ids')).body).toEqual([here]);
    for (const path of ['slave/s9', 'slave/s9/ids']) {
      expect(await rooms.get(`/api/tasks/active/${path}`)).toMatchObject({
        status: 404,
        body: { code: 'MACHINE_NOT_FOUND', message: "No slave with id 's9'" },
      });
    }
  });

  test('cleaning and killed show only what still runs', async () => {
    const cleaning = await insert(running);
    const gone = await insert({ ...ended, instanceNo: 2 });
    for (const { id } of [cleaning, gone]) {
      await tx().query(
        `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, user_name) VALUES ($1, 'web', 'BOUNCING', $2, 'ada')`,
        [id, new Date(start)],
      );
      await tx().query(
        `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at, task_cleanup_type, retries)
         VALUES ($1, 'web', $2, $3, 'BOUNCING', 2)`,
        [id, new Date(start + 5), new Date(start + 1)],
      );
    }
    expect((await rooms.get('/api/tasks/cleaning')).body).toEqual([
      { taskId: cleaning, cleanupType: 'BOUNCING', timestamp: start, user: 'ada' },
    ]);
    expect((await rooms.get('/api/tasks/killed')).body).toEqual([
      {
        taskId: cleaning,
        timestamp: start + 5,
        originalTimestamp: start + 1,
        taskCleanupType: 'BOUNCING',
        retries: 2,
      },
    ]);
  });

  test('of one request, by status', async () => {
    await insertRequest(tx());
    await insertDeploy(tx());
    const taskId = await insert({ updates: [['TASK_RUNNING', start]] });
    const { pendingTaskId } = await insertPendingTask(tx(), makePendingTask());
    const { status, body } = await rooms.get<TaskIdsByStatus>('/api/tasks/ids/request/web');
    expect(status).toBe(200);
    expect(body).toMatchObject({ pending: [pendingTaskId], cleaning: [], loadBalanced: [], killed: [] });
    expect([...body.healthy, ...body.notYetHealthy]).toEqual([taskId]);
    expect(await rooms.get('/api/tasks/ids/request/nope')).toMatchObject({
      status: 404,
      body: { code: 'REQUEST_NOT_FOUND' },
    });
  });
});

describe('scheduled tasks', () => {
  const pendingTask = (changes: Partial<Omit<PendingTaskId, 'id'>>) =>
    makePendingTask({
      pendingTaskId: makePendingTaskId({ ...makePendingTask().pendingTaskId, ...changes }),
    });

  test('come in the order in which they are due, with request and deploy', async () => {
    const request = await insertRequest(tx(), { request: { requestType: 'SCHEDULED', schedule: '* * * * *' } });
    const deploy = await insertDeploy(tx());
    const later = await insertPendingTask(tx(), pendingTask({ nextRunAt: start + 9_000 }));
    const sooner = await insertPendingTask(tx(), pendingTask({ nextRunAt: start + 3_000, instanceNo: 2 }));
    expect((await rooms.get('/api/tasks/scheduled')).body).toEqual([
      { request, deploy, pendingTask: sooner },
      { request, deploy, pendingTask: later },
    ]);
    expect((await rooms.get('/api/tasks/scheduled/ids')).body).toEqual([sooner.pendingTaskId, later.pendingTaskId]);
    expect((await rooms.get('/api/tasks/scheduled/request/web')).body).toHaveLength(2);
    expect((await rooms.get('/api/tasks/scheduled/request/other')).body).toEqual([]);
    expect((await rooms.get(`/api/tasks/scheduled/task/${later.pendingTaskId.id}`)).body).toEqual({
      request,
      deploy,
      pendingTask: later,
    });
  });

  test('in pages have each of them once, those of one request too', async () => {
    await insertRequest(tx(), { request: { requestType: 'SCHEDULED', schedule: '* * * * *' } });
    await insertRequest(tx(), { request: { id: 'other' } });
    await insertDeploy(tx());
    const waiting = [];
    for (const instanceNo of [2, 1, 3]) waiting.push(await insertPendingTask(tx(), pendingTask({ instanceNo })));
    const [two, one, three] = waiting;
    const inOrder = [[one], [two], [three]];
    const found = await pagesOf<TaskRequest>('/api/tasks/scheduled', 1);
    expect(found.map((page) => page.map((task) => task.pendingTask))).toEqual(inOrder);
    expect(await pagesOf('/api/tasks/scheduled/request/web', 1)).toEqual(found);
    expect(await pagesOf('/api/tasks/scheduled/request/other', 1)).toEqual([[]]);
    expect(await pagesOf('/api/tasks/scheduled/ids', 2)).toEqual([
      [one!.pendingTaskId, two!.pendingTaskId],
      [three!.pendingTaskId],
    ]);
    expect(await rooms.get('/api/tasks/scheduled/ids?cursor=abc')).toMatchObject({ status: 400 });
  });

  test('those that cannot run as things stand are left out', async () => {
    await insertRequest(tx(), { state: 'PAUSED' });
    await insertDeploy(tx());
    await insertPendingTask(tx(), pendingTask({}));
    await insertRequest(tx(), { request: { id: 'other' } });
    await insertPendingTask(tx(), pendingTask({ requestId: 'other' }));
    expect((await rooms.get('/api/tasks/scheduled')).body).toEqual([]);
  });

  test('of a pending deploy show the request as the deploy will make it', async () => {
    await insertRequest(tx(), { pendingDeployId: 'd1' });
    await insertDeploy(tx());
    const updated = makeRequest({ instances: 7 });
    await tx().query(
      `INSERT INTO pending_deploy (request_id, deploy_id, state, updated_request) VALUES ('web', 'd1', 'WAITING', $1)`,
      [JSON.stringify(updated)],
    );
    await insertPendingTask(tx(), pendingTask({}));
    expect((await rooms.get('/api/tasks/scheduled')).body).toMatchObject([{ request: updated }]);
  });

  test('a waiting run of an ON_DEMAND request can be deleted once', async () => {
    await insertRequest(tx(), { request: { requestType: 'ON_DEMAND' } });
    await insertDeploy(tx());
    const waiting = await insertPendingTask(tx(), { ...pendingTask({ pendingType: 'ONEOFF' }), runId: 'r1' });
    const path = `/api/tasks/scheduled/task/${waiting.pendingTaskId.id}`;
    expect(await rooms.call('DELETE', path)).toMatchObject({ status: 200, body: waiting });
    expect(woken).toEqual(['scheduler']);
    expect(await tx().query('SELECT delete_requested FROM pending_task')).toEqual([{ delete_requested: true }]);
    expect(await rooms.call('DELETE', path)).toMatchObject({ status: 404, body: { code: 'PENDING_TASK_NOT_FOUND' } });
    expect((await rooms.get('/api/tasks/scheduled/ids')).body).toEqual([]);
  });

  test.each([
    { id: 'nope', status: 400, method: 'GET' },
    { id: 'nope', status: 400, method: 'DELETE' },
    { id: 'web-d1-1-1-RETRY-1', status: 404, method: 'GET' },
    { id: 'web-d1-1-1-RETRY-1', status: 404, method: 'DELETE' },
    { id: 'web-d1-1-1-SOMETIMES-1', status: 400, method: 'GET' },
  ])('$method of $id answers $status', async ({ id, status, method }) => {
    expect(await rooms.call(method, `/api/tasks/scheduled/task/${id}`)).toMatchObject({ status });
  });

  test('of other requests cannot', async () => {
    await insertRequest(tx());
    await insertDeploy(tx());
    const { pendingTaskId } = await insertPendingTask(tx(), pendingTask({}));
    const answer = await rooms.call<ErrorDto>('DELETE', `/api/tasks/scheduled/task/${pendingTaskId.id}`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('ON_DEMAND');
  });
});

describe('one task', () => {
  test.each(['', '/cleanup', '/statistics'])('%s of a task that is not active is not found', async (what) => {
    const { id } = await insert(ended);
    expect(await rooms.get(`/api/tasks/task/${id}${what}`)).toMatchObject({ status: 404 });
    expect(await rooms.get(`/api/tasks/task/web-d1-1-1-nowhere-rack${what}`)).toMatchObject({ status: 404 });
    expect(await rooms.get(`/api/tasks/task/nope${what}`)).toMatchObject({ status: 400 });
  });

  test('is shown as it was launched', async () => {
    await insertDeploy(tx());
    const { id } = await insert(running);
    expect((await rooms.get(`/api/tasks/task/${id}`)).body).toEqual(asAnswer(makeTask()));
  });

  test('its figures come from its machine, cores as a whole number, and with their fraction beside it', async () => {
    const { id } = await insert(running);
    expect(await rooms.get(`/api/tasks/task/${id}/statistics`)).toMatchObject({ status: 404 });
    driver.figures.set(id, { taskId: id, cpusLimit: 0.3, memTotalBytes: 5 } as TaskStatistics);
    expect((await rooms.get(`/api/tasks/task/${id}/statistics`)).body).toMatchObject({
      cpusLimit: 1,
      cpusLimitExact: 0.3,
      memTotalBytes: 5,
    });
    driver.unreachable.add('s1');
    expect(await rooms.get(`/api/tasks/task/${id}/statistics`)).toMatchObject({
      status: 404,
      body: { code: 'MACHINE_NOT_FOUND' },
    });
  });

  test('its reconciliation is wished for, once however often it is asked for, and wakes the leader', async () => {
    const { id } = await insert(running);
    expect(await rooms.call('POST', `/api/tasks/reconcile/${id}`)).toMatchObject({ status: 200, body: '' });
    expect(woken).toEqual(['reconcile']);
    await rooms.call('POST', `/api/tasks/reconcile/${id}`);
    expect(await tx().query('SELECT task_id FROM reconciliation_wish')).toEqual([{ task_id: id }]);
    expect(await rooms.call('POST', '/api/tasks/reconcile/web-d1-1-1-nowhere-rack')).toMatchObject({ status: 404 });
  });
});

describe('kill', () => {
  const kill = (id: string, body?: unknown) => rooms.call<TaskCleanup>('DELETE', `/api/tasks/task/${id}`, body);

  test('orders a cleanup and answers it', async () => {
    const taskId = await insert(running);
    const before = Date.now();
    const { status, body } = await kill(taskId.id, { message: 'enough', actionId: 'a1' });
    expect(status).toBe(200);
    expect(body).toEqual({
      taskId,
      cleanupType: 'USER_REQUESTED',
      timestamp: body.timestamp,
      message: 'enough',
      actionId: 'a1',
    });
    expect(body.timestamp).toBeGreaterThanOrEqual(before);
    expect(woken).toEqual(['cleanup']);
    expect((await rooms.get(`/api/tasks/task/${taskId.id}/cleanup`)).body).toEqual(body);
    const states = await rooms.get<Record<string, TaskHistoryUpdate[]>>('/api/tasks/active/states');
    expect(states.body[taskId.id]!.at(-1)).toMatchObject({
      taskState: 'TASK_CLEANING',
      statusMessage: 'USER_REQUESTED - enough',
    });
  });

  test('without a body is a plain one, and twice is a conflict that shows the first', async () => {
    const { id } = await insert(running);
    const first = await kill(id);
    expect(first).toMatchObject({ status: 200, body: { cleanupType: 'USER_REQUESTED' } });
    expect(await kill(id)).toMatchObject({
      status: 409,
      body: { status: 409, code: 'CLEANUP_EXISTS', cleanup: first.body },
    });
    expect(await kill(id, { override: false, waitForReplacementTask: true })).toMatchObject({ status: 409 });
    expect(await tx().query('SELECT 1 FROM pending_request')).toEqual([]);
  });

  test('stands in the way of a second one until the task has ended, also when it was carried out', async () => {
    const { id } = await insert(running);
    const first = await kill(id);
    const cleanup = first.body as TaskCleanup;
    // What the cleanup poller does, some milliseconds later.
    await rooms.app.get(KilledTaskRepository).decideAll(tx(), [{ cleanup, deploy: undefined }], cleanup.timestamp);
    await rooms.app.get(TaskCleanupRepository).remove(tx(), [cleanup]);
    const { cleanupType, taskId, timestamp } = cleanup;
    const second = await kill(id);
    expect(second).toMatchObject({
      status: 409,
      body: { code: 'CLEANUP_EXISTS', cleanup: { cleanupType, taskId, timestamp } },
    });
    expect(await tx().query('SELECT 1 FROM task_cleanup')).toEqual([]);
    expect(await kill(id, { override: true })).toMatchObject({ status: 200 });
  });

  test.each(['waits', 'was carried out'])(
    'under compatibility replaces what was ordered before and %s, but for an end without delay',
    async (state) => {
      const { id } = await insert(running);
      const cleanup = (await kill(id, { waitForReplacementTask: true })).body;
      if (state === 'was carried out') {
        await rooms.app.get(KilledTaskRepository).decideAll(tx(), [{ cleanup, deploy: undefined }], cleanup.timestamp);
        await rooms.app.get(TaskCleanupRepository).remove(tx(), [cleanup]);
      }
      const killAgain = (body: object) => older.call('DELETE', `/api/tasks/task/${id}`, body);
      const cleaning = async () => (await rooms.get('/api/tasks/cleaning')).body;
      expect(await killAgain({ waitForReplacementTask: false })).toMatchObject({ status: 200 });
      expect(await cleaning()).toMatchObject([{ cleanupType: 'USER_REQUESTED' }]);
      expect(await killAgain({ waitForReplacementTask: true })).toMatchObject({ status: 200 });
      expect(await cleaning()).toMatchObject([{ cleanupType: 'USER_REQUESTED_TASK_BOUNCE' }]);
      expect(await killAgain({ override: true })).toMatchObject({ status: 200 });
      expect(await killAgain({ waitForReplacementTask: true })).toMatchObject({
        status: 409,
        body: { error: 'CLEANUP_EXISTS', cleanup: { cleanupType: 'USER_REQUESTED_DESTROY' } },
      });
    },
  );

  test('override replaces what was ordered before', async () => {
    const { id } = await insert(running);
    await kill(id);
    expect(await kill(id, { override: true })).toMatchObject({
      status: 200,
      body: { cleanupType: 'USER_REQUESTED_DESTROY' },
    });
    expect((await rooms.get('/api/tasks/cleaning')).body).toMatchObject([{ cleanupType: 'USER_REQUESTED_DESTROY' }]);
  });

  test('waiting for a replacement asks for one', async () => {
    const { id } = await insert(running);
    const body = { waitForReplacementTask: true, message: 'slow', actionId: 'a2' };
    expect(await kill(id, body)).toMatchObject({ status: 200, body: { cleanupType: 'USER_REQUESTED_TASK_BOUNCE' } });
    expect(await tx().query('SELECT request_id, deploy_id, pending_type, document FROM pending_request')).toMatchObject(
      [
        {
          request_id: 'web',
          deploy_id: 'd1',
          pending_type: 'TASK_BOUNCE',
          document: { message: 'slow', actionId: 'a2' },
        },
      ],
    );
    expect(woken).toEqual(['cleanup', 'scheduler']);
  });

  test('of a task that has ended or never was is not found', async () => {
    const { id } = await insert(ended);
    expect(await kill(id)).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
    expect(await kill(id, { override: true })).toMatchObject({ status: 404 });
    expect(await kill('web-d1-1-1-nowhere-rack')).toMatchObject({ status: 404 });
  });

  test.each([
    { body: { override: 'yes' }, field: 'override' },
    { body: { waitForReplacementTask: 1 }, field: 'waitForReplacementTask' },
    { body: { runShellCommandBeforeKill: {} }, field: 'runShellCommandBeforeKill.name' },
  ])('$body is refused for $field', async ({ body, field }) => {
    const { id } = await insert(running);
    expect(await kill(id, body)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
    expect((await rooms.get('/api/tasks/cleaning')).body).toEqual([]);
  });

  test('a shell command that is not configured is forbidden', async () => {
    const { id } = await insert(running);
    const answer = await kill(id, { runShellCommandBeforeKill: { name: 'jstack' } });
    expect(answer).toMatchObject({ status: 403, body: { errors: [{ field: 'runShellCommandBeforeKill.name' }] } });
    expect((await rooms.get('/api/tasks/cleaning')).body).toEqual([]);
  });

  test('of twenty at once one wins', async () => {
    const { id } = await insert(running);
    const answers = await Promise.all(Array.from({ length: 20 }, () => kill(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
  });
});
