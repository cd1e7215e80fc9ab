import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  makeRequest,
  start,
} from '../../../test/support/builders.js';
import { testSettings } from '../../../test/support/test-app.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import type { TaskState } from '../../core/model/enums.js';
import type { PendingTask } from '../../core/model/task.js';
import { makePendingTaskId } from '../../core/task-id.js';
import { Clock } from '../../platform/clock.js';
import { LoadBalancerRecordRepository } from '../tasks/balancing/load-balancer-record.repository.js';
import { LaunchedTaskRepository } from '../tasks/launched-task.repository.js';
import { LiveTaskHistoryRepository } from './live-task-history.repository.js';
import { TaskHistoryMoveRepository } from './task-history-move.repository.js';

const second = 1_000;
const day = 24 * 3_600 * second;
let db: TestDatabase;

/** Started at, ran for (never: undefined), ended how, of which deploy. Times in seconds after `start`. */
type Run = [startedAt: number, ran: number | undefined, state: TaskState, deployId: string];

beforeAll(async () => {
  db = await createTestDatabase();
  const runs: Run[] = [
    [0, 10, 'TASK_FINISHED', 'd1'],
    [60, 20, 'TASK_FINISHED', 'd1'],
    [120, 30, 'TASK_FINISHED', 'd1'],
    [180, 5, 'TASK_FAILED', 'd1'],
    [240, 100, 'TASK_KILLED', 'd1'],
    [day / second, 40, 'TASK_FINISHED', 'd2'],
    [day / second + 60, undefined, 'TASK_LOST', 'd2'],
  ];
  const ids: string[] = [];
  for (const [index, [startedAt, ran, state, deployId]] of runs.entries()) {
    const launchedAt = start + startedAt * second;
    // Two seconds pass between the launch and the first instruction; they are not run time.
    const runningAt = launchedAt + 2 * second;
    const end: [TaskState, number] = [state, ran === undefined ? runningAt : runningAt + ran * second];
    const updates: [TaskState, number][] = ran === undefined ? [end] : [['TASK_RUNNING', runningAt], end];
    const task = { requestId: 'cron', deployId, instanceNo: index + 1, startedAt: launchedAt, updates };
    ids.push((await insertTask(db.database.pool, task)).id);
  }
  const histories = new LiveTaskHistoryRepository(new LaunchedTaskRepository(testSettings()));
  const balancing = new LoadBalancerRecordRepository();
  const writer = new TaskHistoryMoveRepository(histories, balancing, new Clock(), testSettings());
  await db.database.leaderTransaction((tx) => writer.move(tx, ids));
});
afterAll(() => db.drop());

const rowsOf = (sql: string) => db.pool.query(sql);

test('runs per request and day', async () => {
  expect(
    await rowsOf(
      'SELECT request_id, day::text, runs, finished, killed, failed FROM v_runs_per_request_and_day ORDER BY day',
    ),
  ).toEqual([
    { request_id: 'cron', day: '2026-01-05', runs: 5, finished: 3, killed: 1, failed: 1 },
    { request_id: 'cron', day: '2026-01-06', runs: 2, finished: 1, killed: 0, failed: 1 },
  ]);
});

test('failure rate: killed tasks count for nothing', async () => {
  expect(await rowsOf('SELECT deploy_id, ended, failed, failure_rate::float FROM v_failure_rate ORDER BY 1')).toEqual([
    { deploy_id: 'd1', ended: 5, failed: 1, failure_rate: 0.25 },
    { deploy_id: 'd2', ended: 2, failed: 1, failure_rate: 0.5 },
  ]);
});

test('run time percentiles of what finished', async () => {
  expect(await rowsOf('SELECT * FROM v_run_time_percentiles')).toEqual([
    {
      request_id: 'cron',
      runs: 4,
      mean_seconds: '25.0000000000000000',
      p50_seconds: 25,
      p90_seconds: 37,
      p99_seconds: expect.closeTo(39.7),
    },
  ]);
});

test('why single tasks ended', async () => {
  const said = { statusMessage: 'Exit code 3', statusReason: 'REASON_COMMAND_EXECUTOR_FAILED' };
  const data = { taskUpdates: [{ statusMessage: 'Task was launched' }, said] };
  await db.pool.query(
    `INSERT INTO task_history (task_id, request_id, deploy_id, host, instance_no, started_at, updated_at, data)
     VALUES ('t1', 'told', 'd1', 'h', 1, now(), now(), $1), ('t2', 'told', 'd1', 'h', 2, now(), now(), NULL)`,
    [JSON.stringify(data)],
  );
  const sql = `SELECT exit_code, reason, message FROM v_task_outcome WHERE request_id = 'told' ORDER BY task_id`;
  expect(await rowsOf(sql)).toEqual([
    { exit_code: 3, reason: said.statusReason, message: said.statusMessage },
    { exit_code: null, reason: null, message: null },
  ]);
  await db.pool.query(`DELETE FROM task_history WHERE request_id = 'told'`);
});

const plannedFor = (requestId: string): PendingTask => {
  const nextRunAt = Date.UTC(2026, 6, 1, 22);
  const pendingType = 'NEW_DEPLOY' as const;
  const parts = { requestId, deployId: 'd1', nextRunAt, instanceNo: 1, pendingType, createdAt: start };
  return makePendingTask({ pendingTaskId: makePendingTaskId(parts) });
};

test('when requests run next, also by the clocks of their zones', async () => {
  const zones = { paris: 'Europe/Paris', utc: undefined, own: 'GMT+2' };
  for (const [id, scheduleTimeZone] of Object.entries(zones)) {
    const request = makeRequest({ id, requestType: 'SCHEDULED', schedule: '@daily', scheduleTimeZone });
    await insertRequest(db.database.pool, { request });
    await insertPendingTask(db.database.pool, plannedFor(id));
  }
  expect(
    await rowsOf(`SELECT request_id, next_run_at, time_zone, local_time::text FROM v_next_run ORDER BY 1`),
  ).toEqual([
    { request_id: 'own', next_run_at: new Date(Date.UTC(2026, 6, 1, 22)), time_zone: 'GMT+2', local_time: null },
    expect.objectContaining({ request_id: 'paris', local_time: '2026-07-02 00:00:00' }),
    expect.objectContaining({ request_id: 'utc', time_zone: 'UTC', local_time: '2026-07-01 22:00:00' }),
  ]);
});

test('when requests with several schedules run next, and which of their runs wait for others', async () => {
  const schedules = [{ schedule: '@daily', scheduleTimeZone: 'Asia/Tokyo' }, { schedule: '0 9 * * *' }];
  const several = makeRequest({ id: 'several', requestType: 'SCHEDULED', schedules, scheduleTimeZone: 'Europe/Paris' });
  await insertRequest(db.database.pool, { request: several });
  const scheduledAt = Date.UTC(2026, 6, 1, 15);
  await insertPendingTask(db.database.pool, { ...plannedFor('several'), scheduledAt, buffered: true });
  const columns = 'time_zone, local_time::text, schedule, schedules, scheduled_at, buffered';
  expect(await rowsOf(`SELECT ${columns} FROM v_next_run WHERE request_id = 'several'`)).toEqual([
    {
      time_zone: 'Asia/Tokyo',
      local_time: '2026-07-02 07:00:00',
      schedule: null,
      schedules,
      scheduled_at: new Date(scheduledAt),
      buffered: true,
    },
  ]);
  await db.database.pool.query(`DELETE FROM request WHERE id = 'several'`);
  await db.database.pool.query(`DELETE FROM pending_task WHERE request_id = 'several'`);
});

test('how single tasks ended', async () => {
  expect(
    await rowsOf(`SELECT status, instance_no, host, rack_id, started_at, running_at, ended_at, run_seconds::float
      FROM v_task_outcome WHERE instance_no IN (4, 7) ORDER BY 2`),
  ).toMatchObject([
    {
      status: 'TASK_FAILED',
      host: 'host_1',
      rack_id: 'rack-1',
      started_at: new Date(start + 180 * second),
      running_at: new Date(start + 182 * second),
      ended_at: new Date(start + 187 * second),
      run_seconds: 5,
    },
    { status: 'TASK_LOST', running_at: null, run_seconds: null },
  ]);
});

test('deploy durations', async () => {
  const result = { deployState: 'SUCCEEDED' as const, timestamp: start + 90 * second, deployFailures: [] };
  await insertDeploy(db.database.pool, { result, user: 'ada', message: 'first' });
  await insertDeploy(db.database.pool, { deploy: { id: 'd2' }, createdAt: start + second });
  expect(
    await rowsOf(
      `SELECT deploy_id, user_name, message, state, duration_seconds::float, waits_because FROM v_deploy_outcome ORDER BY 1`,
    ),
  ).toEqual([
    {
      deploy_id: 'd1',
      user_name: 'ada',
      message: 'first',
      state: 'SUCCEEDED',
      duration_seconds: 90,
      waits_because: null,
    },
    { deploy_id: 'd2', user_name: null, message: null, state: null, duration_seconds: null, waits_because: null },
  ]);
});

test('changes of requests, with what they were after it', async () => {
  const request = makeRequest({ instances: 3, group: 'blue', owners: ['ada@example.org'] });
  await db.pool.query(
    `INSERT INTO request_history (request_id, created_at, event_type, user_name, message, request)
     VALUES ('web', $1, 'SCALED', 'ada', 'more', $2)`,
    [new Date(start), JSON.stringify(request)],
  );
  expect(await rowsOf('SELECT * FROM v_request_change')).toEqual([
    {
      request_id: 'web',
      at: new Date(start),
      event_type: 'SCALED',
      user_name: 'ada',
      message: 'more',
      request_type: 'SERVICE',
      instances: 3,
      request_group: 'blue',
      owners: ['ada@example.org'],
    },
  ]);
});

test('every view says what it is', async () => {
  const undocumented = await rowsOf(
    `SELECT viewname FROM pg_views WHERE schemaname = 'public' AND obj_description(viewname::regclass) IS NULL`,
  );
  expect(undocumented).toEqual([]);
});
