import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { CrashLoopInfo } from '../../core/model/crash-loop.js';
import type { TaskFailureType } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';
import { makeTaskId } from '../../core/task-id.js';
import { CrashLoopRepository } from '../../modules/requests/crash-loops/crash-loop.repository.js';
import { TaskCleanupRepository } from '../../modules/tasks/task-cleanup.repository.js';
import { CrashLoopPoller } from './crash-loop.poller.js';

const minute = 60_000;
let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start();
});
afterEach(() => world.close());

const look = () => world.get(CrashLoopPoller).runOnce(world.now);
const loops = () => world.get(CrashLoopRepository).find(world.db.pool);
const types = async () => (await loops()).map(({ type, end }) => (end === undefined ? type : `${type} over`));

/** A request whose tasks failed so many minutes ago. */
async function failed(type: TaskFailureType, minutesAgo: number[], request: Partial<Request> = {}): Promise<void> {
  const full: Request = { id: 'svc', requestType: 'SERVICE', ...request };
  await world.deployed(full);
  const events = minutesAgo.map((ago) => ({ instance: 1, timestamp: world.now - ago * minute, type }));
  await world.query(
    `INSERT INTO deploy_statistics (request_id, deploy_id, failure_events, last_finish_at) VALUES ($1, 'd1', $2, $3)`,
    [full.id, JSON.stringify(events), new Date(world.now)],
  );
}

describe('crash loops', () => {
  test('are found, stay as they are while they go on, and end', async () => {
    await failed('OOM', [8, 6, 4, 2]);
    await look();
    const start = world.now - 8 * minute;
    const found: CrashLoopInfo[] = [{ requestId: 'svc', deployId: 'd1', start, end: undefined, type: 'OOM' }];
    expect((await loops()).filter(({ type }) => type === 'OOM')).toEqual(found);
    await world.cluster.advance(minute);
    await look();
    expect((await loops()).filter(({ type }) => type === 'OOM')).toEqual(found);
    await world.cluster.advance(30 * minute);
    await look();
    expect((await loops()).filter(({ type }) => type === 'OOM')).toEqual([{ ...found[0], end: world.now }]);
    const told = await world.query<{ events: string }>('SELECT events FROM live_event ORDER BY id');
    const loop = { type: 'CRASHLOOP', requestId: 'svc', deployId: 'd1', crashLoopType: 'OOM', start };
    expect(
      told
        .flatMap(({ events }) => JSON.parse(events) as Record<string, unknown>[])
        .filter(({ crashLoopType }) => crashLoopType === 'OOM'),
    ).toEqual([
      { ...loop, at: start },
      { ...loop, at: world.now, end: world.now },
    ]);
  });

  test('of a task that cannot be replaced are found by its cleanup', async () => {
    await failed('STARTUP_FAILURE', [30, 20, 10]);
    await look();
    expect(await types()).toEqual([]);
    const parts = { requestId: 'svc', deployId: 'd1', instanceNo: 1, host: 'h', rackId: 'r' };
    const { id } = makeTaskId({ ...parts, startedAt: world.now - 60 * minute });
    await world.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'svc', 'BOUNCING', $2)`,
      [id, new Date(world.now - 31 * minute)],
    );
    await look();
    expect(await types()).toEqual(['STARTUP_FAILURE_LOOP']);
  });

  test.each([
    ['ACTIVE', ['OOM']],
    ['DEPLOYING_TO_UNPAUSE', ['OOM']],
    ['SYSTEM_COOLDOWN', []],
    ['PAUSED', []],
    ['FINISHED', []],
    ['DELETING', []],
  ])('of a request that is %s: %j', async (state, expected) => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await world.changeRequest('svc', {}, state);
    await look();
    expect(await types()).toEqual(expected);
  });

  test('stay open while the request cools down', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await look();
    await world.changeRequest('svc', {}, 'SYSTEM_COOLDOWN');
    await world.cluster.advance(10 * minute);
    await look();
    expect(await types()).toEqual(['OOM']);
  });

  test('are never of a deploy that is still pending', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await world.query(`UPDATE request SET active_deploy_id = NULL, pending_deploy_id = 'd1'`);
    await look();
    expect(await types()).toEqual([]);
  });

  test('go when another deploy becomes the active one', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await look();
    await world.query(`UPDATE request SET active_deploy_id = 'd2'`);
    await look();
    expect(await loops()).toEqual([]);
  });

  test('of one request are found although another one cannot be looked at', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5], { id: 'a' });
    await failed('OOM', [29, 28.5, 28, 27.5], { id: 'b' });
    await world.query(`ALTER TABLE crash_loop ADD CHECK (request_id <> 'a')`);
    await look();
    expect((await loops()).map(({ requestId }) => requestId)).toEqual(['b']);
  });

  test('of a request that another transaction holds right now are found the next time', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await world.db.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM request FOR NO KEY UPDATE');
      await look();
    });
    expect(await types()).toEqual([]);
    await look();
    expect(await types()).toEqual(['OOM']);
  });

  test('are not written by a leader that was overtaken', async () => {
    await failed('OOM', [29, 28.5, 28, 27.5]);
    const former = world.get(CrashLoopPoller);
    await world.overtake();
    await expect(former.runOnce(world.now)).rejects.toThrow('does not lead');
    expect(await types()).toEqual([]);
  });
});

describe('webhooks', () => {
  const queued = () =>
    world.query<{ placeholders: unknown; body: unknown; listed: unknown }>(
      'SELECT placeholders, body, listed FROM webhook_update ORDER BY id',
    );
  beforeEach(async () => {
    await world.query(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://127.0.0.1:9/', 'CRASHLOOP', now())`,
    );
    await failed('OOM', [29, 28.5, 28, 27.5]);
    await look();
  });
  const info = () => ({ requestId: 'svc', deployId: 'd1', start: world.now - 29 * minute, type: 'OOM' });

  test('hear once that a loop began', async () => {
    await look();
    const body = info();
    const placeholders = { REQUEST_ID: 'svc', DEPLOY_ID: 'd1' };
    expect(await queued()).toEqual([{ placeholders, body, listed: body }]);
  });

  test('hear of its end, in place of a beginning that still waits', async () => {
    const began = info();
    await world.cluster.advance(5 * minute);
    await look();
    expect(await queued()).toMatchObject([{ body: { ...began, end: world.now } }]);
  });

  test('hear of its end apart from a beginning that was delivered', async () => {
    await world.query('DELETE FROM webhook_update');
    await world.cluster.advance(5 * minute);
    await look();
    expect(await queued()).toMatchObject([{ body: { type: 'OOM', end: world.now } }]);
  });
});

test('a new task that is killed because it starts too late counts as a failed start', async () => {
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  await world.run();
  const [task] = await world.active();
  await world.db.leaderTransaction((tx) =>
    world.get(TaskCleanupRepository).create(tx, {
      taskId: task!.taskId,
      cleanupType: 'OVERDUE_NEW_TASK',
      timestamp: world.now,
      message: 'not running for 600 seconds',
    }),
  );
  await world.killCleaned();
  await world.run(2);
  expect(await world.ends('svc')).toEqual(['TASK_KILLED']);
  const [counts] = await world.query('SELECT failure_events FROM deploy_statistics');
  expect(counts).toMatchObject({ failure_events: [{ instance: 1, type: 'STARTUP_FAILURE' }] });
});

test('a service that keeps running out of memory is in a loop before long', async () => {
  world.cluster.onLaunch(() => ({
    runFor: 90_000,
    exit: 'TASK_FAILED',
    message: 'Memory limit exceeded: Requested: 64 MB',
  }));
  await world.deployed({ id: 'svc', requestType: 'SERVICE' });
  for (let minutes = 0; minutes < 8; minutes++) {
    await world.run(60);
    await look();
  }
  expect(await types()).toEqual(['OOM']);
});
