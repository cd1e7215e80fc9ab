import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertRequest,
  insertTask,
  makeTask,
  start,
  type TaskRow,
} from '../../../test/support/builders.js';
import { testSettings } from '../../../test/support/test-app.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import type { TaskHistory } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { LoadBalancerRemovalRepository } from '../tasks/balancing/load-balancer-removal.repository.js';
import { TaskRepository } from '../tasks/task.repository.js';
import { TaskCleanupRepository } from '../tasks/task-cleanup.repository.js';
import { LiveEventRepository } from '../events/live-event.repository.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { Wake } from '../../platform/wake/wake.js';
import { WebhookOutboxRepository } from '../webhooks/webhook-outbox.repository.js';
import { LoadBalancerRecordRepository } from '../tasks/balancing/load-balancer-record.repository.js';
import { LaunchedTaskRepository } from '../tasks/launched-task.repository.js';
import { LiveTaskHistoryRepository } from './live-task-history.repository.js';
import { TaskHistoryRepository } from './task-history.repository.js';
import { TaskHistoryMoveRepository } from './task-history-move.repository.js';

const minute = 60_000;
let db: TestDatabase;
let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
const launched = new LaunchedTaskRepository(testSettings());
const balancing = new LoadBalancerRecordRepository();
const histories = new LiveTaskHistoryRepository(launched);
const writer = new TaskHistoryMoveRepository(histories, balancing, clock, testSettings());

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  now = start + minute;
  await db.pool.query(
    'TRUNCATE task, task_launch, task_update, task_healthcheck, task_cleanup, killed_task, task_history, request, deploy_history',
  );
});

const move = (ids: string[]) => db.database.leaderTransaction((tx) => writer.move(tx, ids));
const insert = (row: TaskRow) => insertTask(db.database.pool, row);
const liveRows = async (): Promise<number> => {
  const tables = ['task', 'task_launch', 'task_update', 'task_healthcheck', 'task_cleanup', 'killed_task'];
  const [found] = await db.pool.query(
    `SELECT ${tables.map((table) => `(SELECT count(*)::int FROM ${table})`).join(' + ')} AS count`,
  );
  return found.count;
};
const ended: TaskRow = {
  updates: [
    ['TASK_RUNNING', start + 1_000],
    ['TASK_FINISHED', start + 5_000, { message: 'Command exited with status 0' }],
  ],
};

test('a reader is never told a part of a task that moves while it is read', async () => {
  const taskId = await insert(ended);
  const whole = await new TaskHistoryRepository(histories, testSettings()).find(db.database.pool, taskId.id);
  const movesMeanwhile = new (class extends LaunchedTaskRepository {
    override async find(...of: Parameters<LaunchedTaskRepository['find']>) {
      const found = await super.find(...of);
      now += minute;
      await move([taskId.id]);
      return found;
    }
  })(testSettings());
  const reader = new TaskHistoryRepository(new LiveTaskHistoryRepository(movesMeanwhile), testSettings());
  const seen = await reader.find(db.database.pool, taskId.id);
  expect(seen?.history.taskUpdates).toEqual(whole?.history.taskUpdates);
});

describe('what is written', () => {
  test('the columns and the whole record, and nothing stays behind', async () => {
    const taskId = await insert({ ...ended, runId: 'r-1', directory: '/sandbox/1', host: 'host-1' });
    const tx = db.database.pool;
    await tx.query(
      `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code, duration_millis, response_body)
       VALUES ($1, $2, false, 200, 12, 'fine'), ($1, $3, true, NULL, NULL, NULL)`,
      [taskId.id, new Date(start + 3_000), new Date(start + 2_000)],
    );
    const previous = JSON.stringify([{ timestamp: start + 3_500, statusMessage: 'BOUNCING', cleanupType: 'BOUNCING' }]);
    await tx.query(
      `INSERT INTO task_update (task_id, state, at, message, previous) VALUES ($1, 'TASK_CLEANING', $2, 'PAUSING', $3)`,
      [taskId.id, new Date(start + 4_000), previous],
    );
    await tx.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'web', 'PAUSING', now())`,
      [taskId.id],
    );
    await tx.query(
      `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at) VALUES ($1, 'web', now(), now())`,
      [taskId.id],
    );

    await insertDeploy(tx);

    expect(await move([taskId.id])).toEqual([taskId.id]);

    expect(await liveRows()).toBe(0);
    const [row] = await db.pool.query('SELECT * FROM task_history');
    expect(row).toMatchObject({
      task_id: taskId.id,
      request_id: 'web',
      deploy_id: 'd1',
      run_id: 'r-1',
      slave_id: 's1',
      host: 'host_1',
      rack_id: 'rack-1',
      instance_no: 1,
      started_at: new Date(start),
      running_at: new Date(start + 1_000),
      updated_at: new Date(start + 5_000),
      last_task_status: 'TASK_FINISHED',
      purged: false,
    });
    expect(row.data).toEqual({
      task: JSON.parse(JSON.stringify(makeTask({ runId: 'r-1' }))),
      directory: '/sandbox/1',
      taskUpdates: [
        { taskId, timestamp: start, taskState: 'TASK_LAUNCHED', previous: [] },
        { taskId, timestamp: start + 1_000, taskState: 'TASK_RUNNING', previous: [] },
        {
          taskId,
          timestamp: start + 4_000,
          taskState: 'TASK_CLEANING',
          statusMessage: 'PAUSING',
          previous: [
            { taskId, timestamp: start + 3_500, taskState: 'TASK_CLEANING', statusMessage: 'BOUNCING', previous: [] },
          ],
        },
        {
          taskId,
          timestamp: start + 5_000,
          taskState: 'TASK_FINISHED',
          statusMessage: 'Command exited with status 0',
          previous: [],
        },
      ],
      healthcheckResults: [
        { taskId, timestamp: start + 2_000, startup: true },
        { taskId, timestamp: start + 3_000, startup: false, statusCode: 200, durationMillis: 12, responseBody: 'fine' },
      ],
      loadBalancerUpdates: [],
      shellCommandHistory: [],
      taskMetadata: [],
    } satisfies TaskHistory);
  });

  test.each([false, true])(
    'tasks as they were read before, of a deploy that is known or not; whole: %s',
    async (whole) => {
      const settings = testSettings({ storeAllClusterTaskInfoForDebugging: whole });
      const reader = new LiveTaskHistoryRepository(new LaunchedTaskRepository(settings));
      const mover = new TaskHistoryMoveRepository(reader, balancing, clock, settings);
      const tx = db.database.pool;
      await insertDeploy(tx, { deploy: { env: { A: 'b' }, executorData: { cmd: 'run' } } });
      const rowsOfTasks = [{}, { instanceNo: 2 }, { requestId: 'gone' }, { deployId: 'd2', instanceNo: 3 }];
      const ids: string[] = [];
      for (const row of rowsOfTasks) ids.push((await insert({ ...ended, ...row })).id);
      const before = await reader.find(tx, ids);
      const environments = ids.map((id) => before.get(id)?.task.taskRequest.deploy.env);
      expect(environments).toEqual([{ A: 'b' }, { A: 'b' }, undefined, undefined]);
      await db.database.leaderTransaction((writing) => mover.move(writing, ids));
      const moved: { task_id: string; data: TaskHistory }[] = await db.pool.query(
        'SELECT task_id, data FROM task_history',
      );
      expect(new Map(moved.map((row) => [row.task_id, row.data]))).toEqual(
        new Map(ids.map((id) => [id, JSON.parse(JSON.stringify(before.get(id)))])),
      );
    },
  );

  test('the end is the last update, even where the clocks of machines disagree', async () => {
    const taskId = await insert({
      updates: [
        ['TASK_RUNNING', start],
        ['TASK_CLEANING', start + 9_000],
        ['TASK_KILLED', start + 8_000],
      ],
    });
    await move([taskId.id]);
    const [row] = await db.pool.query('SELECT updated_at, last_task_status, data FROM task_history');
    expect(row).toMatchObject({ updated_at: new Date(start + 9_000), last_task_status: 'TASK_KILLED' });
    expect((row.data as TaskHistory).taskUpdates.map((update) => update.taskState)).toEqual([
      'TASK_LAUNCHED',
      'TASK_RUNNING',
      'TASK_CLEANING',
      'TASK_KILLED',
    ]);
  });

  test('a task that is in the history already keeps its row there, and its live rows go', async () => {
    const taskId = await insert(ended);
    await db.pool.query(
      `INSERT INTO task_history (task_id, request_id, deploy_id, host, instance_no, started_at, updated_at, last_task_status)
       VALUES ($1, 'web', 'd1', 'host_1', 1, now(), now(), 'TASK_LOST')`,
      [taskId.id],
    );
    expect(await move([taskId.id])).toEqual([taskId.id]);
    expect(await liveRows()).toBe(0);
    expect(await db.pool.query('SELECT last_task_status FROM task_history')).toEqual([
      { last_task_status: 'TASK_LOST' },
    ]);
  });
});

describe('what may move', () => {
  test('active and unknown tasks stay', async () => {
    const taskId = await insert({ updates: [['TASK_RUNNING', start]] });
    expect(await move([taskId.id, 'nobody-d1-1-1-host-rack'])).toEqual([]);
    expect(await liveRows()).toBe(4);
  });

  test("a task of the request's pending deploy stays until the deploy has ended", async () => {
    await insertRequest(db.database.pool, { pendingDeployId: 'd1' });
    const taskId = await insert(ended);
    const ofFormerDeploy = await insert({ ...ended, deployId: 'd0' });
    expect(await move([taskId.id, ofFormerDeploy.id])).toEqual([ofFormerDeploy.id]);
    await db.pool.query('UPDATE request SET pending_deploy_id = NULL');
    expect(await move([taskId.id])).toEqual([taskId.id]);
  });

  test.each([
    { state: 'TASK_UNREACHABLE' as const, reason: undefined, held: true },
    { state: 'TASK_LOST' as const, reason: 'REASON_AGENT_REMOVED', held: true },
    { state: 'TASK_LOST' as const, reason: 'REASON_RECONCILIATION', held: false },
    { state: 'TASK_LOST' as const, reason: undefined, held: false },
  ])('$state for $reason may come back with its machine: held back $held', async ({ state, reason, held }) => {
    const taskId = await insert({ updates: [[state, start, { reason }]] });
    now = start + 15 * minute - 1;
    expect(await move([taskId.id])).toEqual(held ? [] : [taskId.id]);
    now = start + 15 * minute;
    expect(await move([taskId.id])).toEqual(held ? [taskId.id] : []);
  });

  test('movable lists the newest started first', async () => {
    const older = await insert(ended);
    const newer = await insert({ ...ended, startedAt: start + 10, instanceNo: 2 });
    await insert({ updates: [['TASK_RUNNING', start]], instanceNo: 3 });
    expect(await writer.movable(db.database.pool, 5)).toEqual([newer.id, older.id]);
    expect(await writer.movable(db.database.pool, 1)).toEqual([newer.id]);
  });
});

test('a cleanup that is being ordered while its task ends is not left behind', async () => {
  const tasks = new TaskRepository(balancing, new LoadBalancerRemovalRepository());
  const wake = new Wake();
  const webhooks = new WebhookOutboxRepository(clock, wake, testSettings());
  const outbox = new OutboxRepository(new LiveEventRepository(wake, clock), webhooks, clock);
  const cleanups = new TaskCleanupRepository(tasks, launched, outbox);
  const taskId = await insert({ updates: [['TASK_RUNNING', start]] });
  let ordered!: () => void;
  const order = new Promise<void>((resolve) => (ordered = resolve));
  let finish!: () => void;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const ordering = db.database.transaction(async (tx) => {
    expect(await cleanups.create(tx, { taskId, cleanupType: 'PAUSING', timestamp: start })).toBe(true);
    ordered();
    await finished;
  });
  await order;
  const moving = db.database.leaderTransaction(async (tx) => {
    await tx.query('UPDATE task SET ended_at = now() WHERE task_id = $1', [taskId.id]);
    finish();
    return writer.move(tx, [taskId.id]);
  });
  await ordering;
  expect(await moving).toEqual([taskId.id]);
  expect(await liveRows()).toBe(0);
});

test('500 tasks move in one go', async () => {
  const ids: string[] = [];
  await db.database.transaction(async (tx) => {
    for (let instanceNo = 1; instanceNo <= 500; instanceNo++)
      ids.push((await insertTask(tx, { ...ended, instanceNo })).id);
  });
  const read = await db.database.leaderTransaction(async (tx) => {
    expect((await writer.move(tx, ids)).length).toBe(500);
    const [row] = await tx.query('SELECT sum(seq_tup_read)::int AS rows FROM pg_stat_xact_user_tables');
    return (row as { rows: number }).rows;
  });
  expect(await liveRows()).toBe(0);
  // A hot path: a plan that reads all rows for each task would read 250,000.
  expect(read).toBeLessThan(50_000);
});
