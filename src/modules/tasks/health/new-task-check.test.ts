import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TaskState } from '../../../core/model/enums.js';
import { insertDeploy, insertRequest, insertTask, start } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { lockAwaited } from '../../../../test/support/lock-waits.js';
import { Clock } from '../../../platform/clock.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { NewTaskCheckPoller } from './new-task-check.poller.js';
import { TaskHealthModule } from './task-health.module.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  rooms = await startRooms({ modules: [TaskHealthModule], clock: new StoppedClock() });
  tx = rooms.database.pool;
  // Tasks are checked when a test says so.
  await rooms.app.get(Pollers).stop();
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(
    'TRUNCATE request, request_history, deploy_history, task, task_launch, task_update, task_healthcheck, task_cleanup',
  ),
);

interface Case {
  name: string;
  after: number;
  request?: { state?: 'ACTIVE'; pendingDeployId?: string; request?: object };
  deploy?: object;
  updates?: [TaskState, number][];
  result?: { statusCode?: number; startup: boolean };
  change?: string;
  cleanup?: string;
}

const running: [TaskState, number][] = [['TASK_RUNNING', start]];
const checked = { healthcheck: { uri: '/', failureStatusCodes: [500] } };
const refused = { startup: true };

test.each<Case>([
  { name: 'a task that does not run in ten minutes has to go', after: 600_001, cleanup: 'OVERDUE_NEW_TASK' },
  { name: 'it has that long', after: 600_000 },
  {
    name: 'a job that does not run has to go too',
    after: 600_001,
    request: { request: { requestType: 'ON_DEMAND' } },
    cleanup: 'OVERDUE_NEW_TASK',
  },
  {
    name: 'a task of the deploy in progress is left to the deploy',
    after: 600_001,
    request: { pendingDeployId: 'd1' },
  },
  {
    name: 'one that has to go already is left alone',
    after: 600_001,
    change: `INSERT INTO task_cleanup SELECT task_id, request_id, 'BOUNCING', now() FROM task`,
    cleanup: 'BOUNCING',
  },
  { name: 'a running task without health check is fine', after: 999_999, updates: running },
  {
    name: 'a task that refuses connections beyond its startup time has to go',
    after: 121_000,
    updates: running,
    deploy: checked,
    result: refused,
    cleanup: 'UNHEALTHY_NEW_TASK',
  },
  {
    name: 'it is looked at only after the time a deploy would have',
    after: 120_999,
    updates: running,
    deploy: checked,
    result: refused,
  },
  {
    name: 'or when the startup delay of its health check is over',
    after: 31_000,
    updates: running,
    deploy: { healthcheck: { uri: '/', startupDelaySeconds: 31, startupTimeoutSeconds: 1 } },
    result: refused,
    cleanup: 'UNHEALTHY_NEW_TASK',
  },
  {
    name: 'and not before that',
    after: 30_999,
    updates: running,
    deploy: { healthcheck: { uri: '/', startupDelaySeconds: 31, startupTimeoutSeconds: 1 } },
    result: refused,
  },
  {
    name: 'a task that has ended is left alone',
    after: 999_999,
    updates: [['TASK_FAILED', start]],
  },
  {
    name: 'but at once when its status fails it at once',
    after: 1_000,
    updates: running,
    deploy: checked,
    result: { statusCode: 500, startup: false },
    cleanup: 'UNHEALTHY_NEW_TASK',
  },
  {
    name: 'a task that passed is fine',
    after: 999_999,
    updates: running,
    deploy: checked,
    result: { statusCode: 200, startup: false },
    change: 'UPDATE task SET healthchecks_finished = true',
  },
  {
    name: 'a task that is not healthy in ten minutes has to go',
    after: 600_001,
    updates: running,
    deploy: checked,
    result: { statusCode: 404, startup: false },
    cleanup: 'OVERDUE_NEW_TASK',
  },
  {
    name: 'unless its request skips health checks',
    after: 600_001,
    request: { request: { skipHealthchecks: true } },
    updates: running,
    deploy: checked,
    result: { statusCode: 404, startup: false },
  },
])('$name', async ({ after, request, deploy, updates, result, change, cleanup }) => {
  await insertRequest(tx, { activeDeployId: 'd1', ...request });
  await insertDeploy(tx, { deploy });
  const taskId = await insertTask(tx, { updates });
  if (result) {
    await tx.query('INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, $3, $4)', [
      taskId.id,
      new Date(start + 500),
      result.startup,
      result.statusCode ?? null,
    ]);
  }
  if (change) await tx.query(change);
  await rooms.app.get(NewTaskCheckPoller).runOnce(start + after);
  const found = await tx.query('SELECT cleanup_type FROM task_cleanup');
  expect(found).toEqual(cleanup ? [{ cleanup_type: cleanup }] : []);
});

const cleanups = () => tx.query('SELECT task_id, cleanup_type FROM task_cleanup');

test('tasks are looked at every five seconds', async () => {
  const register = vi.spyOn(Pollers.prototype, 'register');
  const other = await startRooms({ modules: [TaskHealthModule], databaseUrl: rooms.databaseUrl });
  await other.close();
  expect(register).toHaveBeenCalledWith(expect.objectContaining({ name: 'new-tasks', everyMs: 5_000 }));
  register.mockRestore();
});

test('the next leader looks at the same tasks: nothing is remembered but the rows', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, {});
  const { id } = await insertTask(tx, {});
  await rooms.app.get(NewTaskCheckPoller).runOnce(start + 600_000);
  expect(await cleanups()).toEqual([]);
  const next = await startRooms({
    modules: [TaskHealthModule],
    clock: new StoppedClock(),
    databaseUrl: rooms.databaseUrl,
  });
  await next.app.get(NewTaskCheckPoller).runOnce(start + 600_001);
  await next.close();
  expect(await cleanups()).toEqual([{ task_id: id, cleanup_type: 'OVERDUE_NEW_TASK' }]);
});

test('a task that cannot be told to go holds up no other, and is tried again in the next pass', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, {});
  const [first, second] = [await insertTask(tx, {}), await insertTask(tx, { instanceNo: 2 })];
  await tx.query(`ALTER TABLE task_cleanup ADD CONSTRAINT refused CHECK (task_id <> '${first.id}')`);
  const pass = () => rooms.app.get(NewTaskCheckPoller).runOnce(start + 600_001);
  await expect(pass()).rejects.toThrow('refused');
  expect(await cleanups()).toEqual([{ task_id: second.id, cleanup_type: 'OVERDUE_NEW_TASK' }]);
  await tx.query('ALTER TABLE task_cleanup DROP CONSTRAINT refused');
  await pass();
  expect(await cleanups()).toHaveLength(2);
});

describe('an order to go is not written when, between the look and the order,', () => {
  test.each([
    [
      'the request was set to skip health checks',
      `UPDATE request SET version = version + 1, document = document || '{"skipHealthchecks": true}'`,
    ],
    [
      'a check passed',
      `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code)
       SELECT task_id, now(), false, 200 FROM task`,
    ],
    ['a deploy of its own began', `UPDATE request SET version = version + 1, pending_deploy_id = 'd1'`],
    ['it ended', `UPDATE task SET ended_at = now(), state = 'TASK_FAILED'`],
  ])('%s', async (_what, change) => {
    await insertRequest(tx, { activeDeployId: 'd1' });
    await insertDeploy(tx, { deploy: checked });
    const { id } = await insertTask(tx, { updates: running });
    const failed =
      'INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, 404)';
    await tx.query(failed, [id, new Date(start + 500)]);
    await orderAfter(change, start + 600_001);
    expect(await cleanups()).toEqual([]);
  });

  test('it began to run', async () => {
    await insertRequest(tx, { activeDeployId: 'd1' });
    await insertDeploy(tx, {});
    await insertTask(tx, {});
    await orderAfter(`UPDATE task SET state = 'TASK_RUNNING', running_at = now()`, start + 600_001);
    expect(await cleanups()).toEqual([]);
  });
});

test('an order to go names the reason that holds when it is written', async () => {
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: checked });
  const { id } = await insertTask(tx, { updates: running });
  const result = 'INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, $3)';
  await tx.query(result, [id, new Date(start + 500), 404]);
  await orderAfter(
    `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code)
     SELECT task_id, now(), false, 500 FROM task`,
    start + 600_001,
  );
  expect(await cleanups()).toEqual([{ task_id: id, cleanup_type: 'UNHEALTHY_NEW_TASK' }]);
});

/** A pass that has judged the task when `change` is committed, and has not written its order yet. */
async function orderAfter(change: string, now: number): Promise<void> {
  let pass = Promise.resolve();
  await rooms.database.pool.transaction(async (other) => {
    await other.query('SELECT FROM request FOR UPDATE');
    pass = rooms.app.get(NewTaskCheckPoller).runOnce(now);
    await lockAwaited(tx);
    await other.query(change);
  });
  await pass;
}
