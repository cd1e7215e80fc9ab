import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { TaskCleanupType } from '../../../core/model/enums.js';
import type { TaskId } from '../../../core/model/task.js';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { toldEvents } from '../../../../test/support/told-events.js';
import { Clock } from '../../../platform/clock.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { DeployRepository } from '../../deploys/deploy.repository.js';
import { ExpiringActionRepository } from '../../../platform/actions/expiring-action.repository.js';
import { RequestCleanupRepository } from '../../requests/request-cleanup.repository.js';
import { TaskCleanupRepository } from '../task-cleanup.repository.js';
import { CleanupModule } from './cleanup.module.js';
import { CleanupPoller } from './cleanup.poller.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let rooms: RoomApp;
let tx: Queryable;
const clean = (after = 0) => rooms.app.get(CleanupPoller).runOnce(start + after);

beforeAll(async () => {
  rooms = await startRooms({ modules: [CleanupModule], clock: new StoppedClock() });
  tx = rooms.database.pool;
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(`TRUNCATE request, request_history, request_cleanup, expiring_action, deploy_history, pending_deploy,
    pending_request, pending_task, task, task_launch, task_update, task_healthcheck, task_cleanup, killed_task`),
);

/** Request 'web' whose deploy d1 serves. */
async function serving(instances: number, requestType: 'SERVICE' | 'SCHEDULED' = 'SERVICE'): Promise<void> {
  await insertRequest(tx, { request: { instances, requestType }, activeDeployId: 'd1' });
  await insertDeploy(tx);
}
const running = (instanceNo: number, at = start - 60_000): Promise<TaskId> =>
  insertTask(tx, { instanceNo, startedAt: at - instanceNo, updates: [['TASK_RUNNING', at]] });
const order = (changes: Partial<RequestCleanup> & Pick<RequestCleanup, 'cleanupType'>) =>
  rooms.app
    .get(RequestCleanupRepository, { strict: false })
    .create(tx, { requestId: 'web', timestamp: start, user: 'ann', ...changes });
const orderTask = (taskId: TaskId, cleanupType: TaskCleanupType, timestamp = start) =>
  rooms.database.transaction((tx) =>
    rooms.app.get(TaskCleanupRepository, { strict: false }).save(tx, { taskId, cleanupType, timestamp }),
  );
const kills = () =>
  tx.query(
    'SELECT task_id, task_cleanup_type AS type, grace_millis::int AS grace, retries, sent_at FROM killed_task ORDER BY task_id',
  );
const count = async (table: string): Promise<number> =>
  (await tx.query(`SELECT count(*)::int AS n FROM ${table}`))[0].n;
const ends = async (taskId: TaskId) =>
  tx.query(`UPDATE task SET state = 'TASK_KILLED', ended_at = now() WHERE task_id = $1`, [taskId.id]);

describe('events tell that a task gets no more calls', () => {
  const told = async () =>
    (await toldEvents(tx, 'HEALTH')).map(({ taskId, eventType, message }) => [taskId, eventType, message]);
  beforeEach(() => tx.query('TRUNCATE live_event'));

  test('when its replacement is healthy and it is killed, and not while it waits for that', async () => {
    await serving(1);
    const old = await running(1);
    await orderTask(old, 'BOUNCING');
    await clean();
    expect(await told()).toEqual([]);
    await running(1, start - 30_000);
    await clean();
    expect(await told()).toEqual([[old.id, 'LEAVING', 'BOUNCING']]);
  });
  test('if it is of a service: jobs get none', async () => {
    await serving(1, 'SCHEDULED');
    await orderTask(await running(1), 'USER_REQUESTED');
    await clean();
    expect([(await kills()).length, await told()]).toEqual([1, []]);
  });
});

describe('a task that has to go at once', () => {
  test('is to be killed, and its cleanup is done with', async () => {
    await serving(1);
    const taskId = await running(1);
    await orderTask(taskId, 'USER_REQUESTED');
    await clean();
    expect(await kills()).toEqual([
      { task_id: taskId.id, type: 'USER_REQUESTED', grace: 180_000, retries: 0, sent_at: null },
    ]);
    expect(await count('task_cleanup')).toBe(0);
  });
  test.each<{ type: TaskCleanupType; deploy?: object; grace: number }>([
    { type: 'USER_REQUESTED_DESTROY', grace: 0 },
    { type: 'USER_REQUESTED', deploy: { executorData: { cmd: 'x', sigKillProcessesAfterMillis: 7 } }, grace: 7 },
    {
      type: 'USER_REQUESTED_DESTROY',
      deploy: { executorData: { cmd: 'x', sigKillProcessesAfterMillis: 7 } },
      grace: 0,
    },
  ])('gets $grace ms for $type', async ({ type, deploy, grace }) => {
    await insertRequest(tx, { activeDeployId: 'd1' });
    await insertDeploy(tx, { deploy });
    await orderTask(await running(1), type);
    await clean();
    expect(await kills()).toMatchObject([{ grace }]);
  });
  test('that is being killed already is killed harder when told so', async () => {
    await serving(1);
    const taskId = await running(1);
    await orderTask(taskId, 'USER_REQUESTED');
    await clean();
    await tx.query('UPDATE killed_task SET sent_at = now()');
    await orderTask(taskId, 'USER_REQUESTED_DESTROY', start + 10);
    await clean(10);
    expect(await kills()).toMatchObject([{ type: 'USER_REQUESTED_DESTROY', grace: 0, retries: 1, sent_at: null }]);
  });
  test('that has ended meanwhile needs nothing', async () => {
    await serving(1);
    const taskId = await running(1);
    await orderTask(taskId, 'SCALING_DOWN');
    await ends(taskId);
    await clean();
    expect([await kills(), await count('task_cleanup')]).toEqual([[], 0]);
  });
  test('whose request is gone goes too', async () => {
    await orderTask(await running(1), 'BOUNCING');
    await clean();
    expect(await kills()).toHaveLength(1);
  });
});

test('a kill is recorded with the reason of the task, and with that of the request when it is paused', async () => {
  await insertRequest(tx, { state: 'PAUSED', activeDeployId: 'd1' });
  await insertDeploy(tx);
  await running(1);
  await order({ cleanupType: 'PAUSING' });
  const other = await running(2);
  await orderTask(other, 'USER_REQUESTED');
  await clean();
  const reasons = await tx.query(
    'SELECT task_cleanup_type AS task, request_cleanup_type AS request FROM killed_task ORDER BY task_cleanup_type',
  );
  expect(reasons).toEqual([
    { task: 'PAUSE', request: 'PAUSING' },
    { task: 'USER_REQUESTED', request: null },
  ]);
});

test('a kill that is repeated keeps the time of the first one', async () => {
  await serving(1);
  await orderTask(await running(1), 'USER_REQUESTED');
  await clean();
  for (const after of [300_001, 600_002]) await clean(after);
  expect(await tx.query('SELECT killed_at, first_killed_at, retries FROM killed_task')).toEqual([
    { killed_at: new Date(start + 600_002), first_killed_at: new Date(start), retries: 2 },
  ]);
});

test('a kill without effect is repeated after five minutes, and forgotten when the task has ended', async () => {
  await serving(1);
  const taskId = await running(1);
  await orderTask(taskId, 'USER_REQUESTED');
  await clean();
  await tx.query('UPDATE killed_task SET sent_at = now()');
  await clean(300_000);
  expect(await kills()).toMatchObject([{ retries: 0, sent_at: expect.any(Date) }]);
  await clean(300_001);
  expect(await kills()).toMatchObject([{ retries: 1, sent_at: null }]);
  await ends(taskId);
  await clean(300_002);
  expect(await kills()).toEqual([]);
});

describe('a pause', () => {
  test('kills the tasks and drops what waits for a machine', async () => {
    await insertRequest(tx, { state: 'PAUSED', activeDeployId: 'd1' });
    await insertDeploy(tx);
    await running(1);
    await insertPendingTask(tx, makePendingTask());
    await order({ cleanupType: 'PAUSING', message: 'holiday' });
    await clean();
    expect(await kills()).toMatchObject([{ type: 'PAUSE', grace: 180_000 }]);
    expect([await count('request_cleanup'), await count('pending_task')]).toEqual([0, 0]);
    expect(await tx.query(`SELECT message FROM task_update WHERE state = 'TASK_CLEANING'`)).toEqual([
      { message: 'PAUSE by ann - holiday' },
    ]);
  });
  test('without killing leaves a job to end by itself', async () => {
    await insertRequest(tx, {
      state: 'PAUSED',
      request: { requestType: 'SCHEDULED', instances: undefined },
      activeDeployId: 'd1',
    });
    await insertDeploy(tx);
    await running(1);
    await order({ cleanupType: 'PAUSING', killTasks: false });
    await clean();
    expect(await kills()).toEqual([]);
    await clean(86_400_001);
    expect(await kills()).toMatchObject([{ type: 'PAUSING' }]);
  });
  test('that was taken back before it was seen changes nothing', async () => {
    await serving(1);
    await running(1);
    await order({ cleanupType: 'PAUSING' });
    await clean();
    expect([await kills(), await count('request_cleanup')]).toEqual([[], 0]);
  });
});

describe('a deletion', () => {
  const deleting = async () => {
    await insertRequest(tx, { state: 'DELETING', activeDeployId: 'd1' });
    await insertDeploy(tx);
    await order({ cleanupType: 'DELETING', message: 'no longer needed' });
  };
  test('kills what runs with the grace of a kill, then removes the request and keeps its history', async () => {
    await deleting();
    const taskId = await running(1);
    await insertPendingTask(tx, makePendingTask());
    await clean();
    const [kill] = await kills();
    expect(kill).toMatchObject({ type: 'REQUEST_DELETING' });
    expect(Number(kill!.grace)).toBeGreaterThan(0);
    expect([await count('request'), await count('request_cleanup'), await count('pending_task')]).toEqual([1, 1, 0]);

    await clean(10);
    expect(await kills()).toMatchObject([{ retries: 0 }]);

    await ends(taskId);
    await clean(20);
    expect([await count('request'), await count('request_cleanup'), await count('deploy_history')]).toEqual([0, 0, 1]);
    expect(await tx.query('SELECT event_type, user_name, message FROM request_history')).toEqual([
      { event_type: 'DELETED', user_name: 'ann', message: 'no longer needed' },
    ]);
  });
  test('waits until the deploy in progress has been ended', async () => {
    await deleting();
    const deploys = rooms.app.get(DeployRepository, { strict: false });
    await deploys.savePending(tx, { requestId: 'web', deployId: 'd2', state: 'WAITING' });
    await clean();
    expect(await count('request')).toBe(1);
    await deploys.removePending(tx, 'web');
    await clean();
    expect(await count('request')).toBe(0);
  });
  test('takes the figures of its use with it', async () => {
    await deleting();
    for (const id of ['web', 'web2']) {
      const document = JSON.stringify({ requestId: id, deployId: 'd1' });
      await tx.query(`INSERT INTO request_utilization (request_id, deploy_id, document) VALUES ($1, 'd1', $2)`, [
        id,
        document,
      ]);
    }
    await clean();
    expect(await tx.query('SELECT request_id FROM request_utilization')).toEqual([{ request_id: 'web2' }]);
    await tx.query('DELETE FROM request_utilization');
  });
  test('takes its crash loops with it', async () => {
    await deleting();
    await tx.query(
      `INSERT INTO crash_loop VALUES ('web', 'd1', 'OOM', now(), NULL), ('web2', 'd1', 'OOM', now(), NULL)`,
    );
    await clean();
    expect(await tx.query('SELECT request_id FROM crash_loop')).toEqual([{ request_id: 'web2' }]);
    await tx.query('DELETE FROM crash_loop');
  });
  test('takes other orders with it', async () => {
    await deleting();
    await order({ cleanupType: 'BOUNCE', deployId: 'd1', timestamp: start + 1 });
    await clean();
    expect([await count('request'), await count('request_cleanup'), await count('pending_request')]).toEqual([0, 0, 0]);
  });
});

describe('a bounce', () => {
  const bouncing = async (cleanupType: 'BOUNCE' | 'INCREMENTAL_BOUNCE') => {
    await serving(2);
    await tx.query('UPDATE request SET bouncing = true');
    await rooms.app.get(ExpiringActionRepository, { strict: false }).save(tx, {
      kind: 'BOUNCE',
      targetId: 'web',
      startMillis: start,
      durationMillis: 3_600_000,
      actionId: 'a1',
      document: {},
      revert: { deployId: 'd1' },
    });
    const old = [await running(1), await running(2)];
    await order({ cleanupType, deployId: 'd1', actionId: 'a1' });
    await clean();
    return old;
  };
  const isBouncing = async () => (await tx.query('SELECT bouncing FROM request'))[0].bouncing;

  test('asks for a full set of replacements, and lets the old tasks go when all of them are healthy', async () => {
    const old = await bouncing('BOUNCE');
    expect(await tx.query('SELECT pending_type, action_id FROM pending_request')).toEqual([
      { pending_type: 'BOUNCE', action_id: 'a1' },
    ]);
    expect([await kills(), await count('task_cleanup')]).toEqual([[], 2]);

    await running(3, start + 1_000);
    await running(4, start + 2_000);
    await clean(6_999);
    expect(await kills()).toEqual([]);
    await clean(7_000);
    expect((await kills()).map((kill: { task_id: string }) => kill.task_id).sort()).toEqual(
      old.map(({ id }) => id).sort(),
    );
    expect(await isBouncing()).toBe(true);

    await ends(old[0]!);
    await clean(7_100);
    expect(await isBouncing()).toBe(true);
    await ends(old[1]!);
    await clean(7_200);
    expect([await isBouncing(), await count('expiring_action')]).toEqual([false, 0]);
  });

  test('an incremental one lets one go for each that is healthy', async () => {
    await bouncing('INCREMENTAL_BOUNCE');
    await running(3, start + 1_000);
    await clean(6_000);
    expect(await kills()).toHaveLength(1);
    await clean(6_001);
    expect(await kills()).toHaveLength(1);
    await running(4, start + 2_000);
    await clean(7_000);
    expect(await kills()).toHaveLength(2);
  });

  test.each([
    { name: 'goes on whatever its text says', types: ['BOUNCING'], text: 'PAUSE', goesOn: true },
    { name: 'goes on while one of its tasks goes for another reason', types: ['BOUNCING', 'PAUSE'], goesOn: true },
    { name: 'is not made by a text that begins like one', types: ['PAUSE'], text: 'BOUNCING by ann', goesOn: false },
  ] as const)('$name', async ({ types, goesOn, ...told }) => {
    await serving(1);
    await tx.query('UPDATE request SET bouncing = true');
    const taskId = await running(1);
    const cleanups = rooms.app.get(TaskCleanupRepository, { strict: false });
    for (const [index, cleanupType] of types.entries()) {
      await rooms.database.transaction((tx) => cleanups.save(tx, { taskId, cleanupType, timestamp: start + index }));
    }
    if ('text' in told)
      await tx.query(`UPDATE task_update SET message = $1 WHERE state = 'TASK_CLEANING'`, [told.text]);
    await clean();
    expect(await isBouncing()).toBe(goesOn);
  });

  test('of a deploy without tasks is over at once', async () => {
    await serving(1);
    await tx.query('UPDATE request SET bouncing = true');
    await order({ cleanupType: 'BOUNCE', deployId: 'd1' });
    await clean();
    expect([await isBouncing(), await count('pending_request')]).toEqual([false, 1]);
  });
});
