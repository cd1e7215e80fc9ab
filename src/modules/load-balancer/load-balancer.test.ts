import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start, type RequestRow } from '../../../test/support/builders.js';
import { startBalancer, type BalancerServer } from '../../../test/support/load-balancer/balancer-server.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { LoadBalancerState } from '../../core/model/enums.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { TaskId } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { TaskHistoryMoveRepository } from '../history/task-history-move.repository.js';
import { RequestCleanupRepository } from '../requests/request-cleanup.repository.js';
import { CleanupModule } from '../tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../tasks/cleanup/cleanup.poller.js';
import { TaskCleanupRepository } from '../tasks/task-cleanup.repository.js';
import { TaskIdsByStatusService } from '../tasks/task-ids-by-status.service.js';
import { LoadBalancerCleanupPoller } from './load-balancer-cleanup.poller.js';
import { LoadBalancerDeletionRepository } from './load-balancer-deletion.repository.js';
import { LoadBalancerEntryPoller } from './load-balancer-entry.poller.js';
import { LoadBalancerModule } from './load-balancer.module.js';
import { LoadBalancerRecordRepository } from '../tasks/balancing/load-balancer-record.repository.js';
import { LoadBalancerRemovalRepository } from '../tasks/balancing/load-balancer-removal.repository.js';
import { UpstreamCheckPoller } from './upstream-check.poller.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let server: BalancerServer;
let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  server = await startBalancer();
  rooms = await startRooms({
    modules: [LoadBalancerModule, CleanupModule],
    clock: new StoppedClock(),
    settings: { loadBalancerUri: server.uri, loadBalancerRequestTimeoutMillis: 1_000 },
  });
  tx = rooms.database.pool;
  // Passes run when a test says so.
  await rooms.app.get(Pollers).stop();
});
afterAll(async () => {
  await rooms.close();
  await server.close();
});
beforeEach(() => {
  server.mode = 'up';
  server.calls.length = 0;
});
afterEach(async () => {
  await tx.query(`TRUNCATE request, request_history, request_cleanup, deploy_history, pending_deploy, task, task_launch,
    task_update, task_healthcheck, task_cleanup, task_history, killed_task, load_balancer_record, load_balancer_removal,
    load_balancer_deletion`);
  server.balancer.reset();
});

const get = <T>(type: abstract new (...args: never[]) => T): T => rooms.app.get<T>(type as never, { strict: false });
const enter = (after = 10_000) => get(LoadBalancerEntryPoller).runOnce(start + after);
const leave = (after = 10_000) => get(LoadBalancerCleanupPoller).runOnce(start + after);
const clean = (after = 10_000) => get(CleanupPoller).runOnce(start + after);
const upstreams = () => server.balancer.upstreams('web');

async function serving(changes: RequestRow = {}): Promise<void> {
  const { request, ...row } = changes;
  await insertRequest(tx, { activeDeployId: 'd1', ...row, request: { loadBalanced: true, ...request } });
  await insertDeploy(tx, { deploy: { serviceBasePath: '/web', loadBalancerGroups: ['g'] } });
}
const running = (instanceNo: number, changes: object = {}): Promise<TaskId> =>
  insertTask(tx, { instanceNo, ports: [31_000 + instanceNo], updates: [['TASK_RUNNING', start]], ...changes });
const ends = async ({ id }: TaskId) => {
  await tx.query(`UPDATE task SET state = 'TASK_FAILED', ended_at = now() WHERE task_id = $1`, [id]);
  await get(LoadBalancerRemovalRepository).add(tx, [id], start);
};
const order = (taskId: TaskId) =>
  rooms.database.transaction((tx) =>
    get(TaskCleanupRepository).save(tx, { taskId, cleanupType: 'USER_REQUESTED', timestamp: start }),
  );
const recordsOf = async ({ id }: TaskId) => (await get(LoadBalancerRecordRepository).find(tx, [id])).get(id)!;
const told = (taskId: TaskId, state: LoadBalancerState, attemptNumber = 1): LoadBalancerUpdate => ({
  loadBalancerState: state,
  loadBalancerRequestId: { id: taskId.id, requestType: 'ADD', attemptNumber },
  timestamp: start,
  method: 'ENQUEUE',
});
const cleanups = async () => tx.query('SELECT task_id AS id, cleanup_type AS type FROM task_cleanup');
const kills = async () => (await tx.query('SELECT task_id FROM killed_task')).length;
const queued = async () => (await tx.query('SELECT task_id FROM load_balancer_removal')).length;

describe('a healthy task that no deploy brings in', () => {
  test('is written down, told to the load balancer, and in', async () => {
    await serving();
    const taskId = await running(1);
    await enter();
    expect(upstreams()).toEqual(['host-1:31001']);
    expect(await recordsOf(taskId)).toMatchObject({ add: { loadBalancerState: 'SUCCESS', method: 'ENQUEUE' } });
    await enter();
    expect(server.calls).toHaveLength(1);
  });
  test('is shown among those that get traffic as soon as it was told, until it was told to go', async () => {
    await serving();
    const [taskId] = [await running(1), await running(2)];
    server.mode = 'down';
    await enter();
    await order(taskId);
    const shown = async () => {
      const lists = await get(TaskIdsByStatusService).forRequests(tx, ['web']);
      return lists.get('web')!.loadBalanced.map(({ instanceNo }) => instanceNo);
    };
    await tx.query(`UPDATE task SET running_at = running_at - interval '1 hour'`);
    expect(await shown()).toEqual([2, 1]);
    await clean();
    await leave();
    expect(await shown()).toEqual([2]);
  });
  test('of a request that is not load balanced stays outside', async () => {
    await serving({ request: { loadBalanced: false } });
    await running(1);
    await enter();
    expect(server.calls).toEqual([]);
  });
  test('stays outside when it has to go', async () => {
    await serving();
    await order(await running(1));
    await enter();
    expect(server.calls).toEqual([]);
  });
  test('that is not taken has to go', async () => {
    await serving();
    const { id } = await running(1);
    server.balancer.script = () => ({ loadBalancerState: 'FAILED', message: 'no room' });
    await enter();
    expect(await cleanups()).toEqual([{ id, type: 'UNHEALTHY_NEW_TASK' }]);
    const [{ message }] = await tx.query(`SELECT message FROM task_update WHERE state = 'TASK_CLEANING'`);
    expect(message).toContain('no room');
  });
  test('that waits is asked after until it is in', async () => {
    await serving();
    const taskId = await running(1);
    server.balancer.script = () => 'WAITING';
    await enter();
    await enter();
    expect((await recordsOf(taskId)).add).toMatchObject({ loadBalancerState: 'WAITING', method: 'CHECK_STATE' });
    await server.balancer.settle(`${taskId.id}-ADD-1`, 'SUCCESS');
    await enter();
    expect((await recordsOf(taskId)).add).toMatchObject({ loadBalancerState: 'SUCCESS' });
    expect(server.balancer.received).toHaveLength(1);
  });
  test('whose answer got lost is sent again under the same id, and is in once', async () => {
    await serving();
    const taskId = await running(1);
    server.mode = 'mute';
    await enter();
    expect((await recordsOf(taskId)).add).toMatchObject({ loadBalancerState: 'UNKNOWN', method: 'ENQUEUE' });
    server.mode = 'up';
    await enter();
    expect((await recordsOf(taskId)).add).toMatchObject({ loadBalancerState: 'SUCCESS' });
    expect(server.balancer.received.map((change) => change.loadBalancerRequestId)).toEqual([
      `${taskId.id}-ADD-1`,
      `${taskId.id}-ADD-1`,
    ]);
  });
  test('that is told to go while its answer is on the way is taken out again', async () => {
    await serving();
    const taskId = await running(1);
    server.balancer.beforeAnswer = async () => {
      server.balancer.beforeAnswer = () => Promise.resolve();
      await order(taskId);
    };
    await enter();
    expect(upstreams()).toEqual(['host-1:31001']);
    await clean();
    expect(await kills()).toBe(0);
    await leave();
    await clean();
    expect([await kills(), upstreams()]).toEqual([1, []]);
  });
  test('comes in again when what told it to leave was taken back', async () => {
    await serving();
    const taskId = await running(1);
    await enter();
    await order(taskId);
    await clean();
    await leave();
    expect(upstreams()).toEqual([]);
    await tx.query('DELETE FROM task_cleanup');
    await enter();
    expect(upstreams()).toEqual(['host-1:31001']);
    expect(await recordsOf(taskId)).toMatchObject({ add: told(taskId, 'SUCCESS', 2), remove: undefined });
  });
});

describe('a task that has to go', () => {
  const inside = async (): Promise<TaskId> => {
    await serving();
    const taskId = await running(1);
    await enter();
    await order(taskId);
    return taskId;
  };
  test('is killed when the load balancer has let go of it, not before', async () => {
    await inside();
    await clean();
    expect([await kills(), await queued(), upstreams()]).toEqual([0, 1, ['host-1:31001']]);
    await leave();
    await clean();
    expect([await kills(), await queued(), upstreams()]).toEqual([1, 0, []]);
  });
  test('is not killed while the load balancer takes its time', async () => {
    const taskId = await inside();
    server.balancer.script = () => 'WAITING';
    for (let pass = 0; pass < 3; pass++) {
      await clean();
      await leave();
    }
    expect(await kills()).toBe(0);
    await server.balancer.settle(`${taskId.id}-REMOVE-1`, 'SUCCESS');
    await leave();
    await clean();
    expect(await kills()).toBe(1);
  });
  test('is tried again as another attempt when the load balancer failed', async () => {
    const taskId = await inside();
    server.balancer.script = ({ loadBalancerRequestId: id }) => (id.endsWith('-REMOVE-1') ? 'FAILED' : 'SUCCESS');
    await clean();
    await leave();
    await clean();
    expect(await kills()).toBe(0);
    await leave();
    await clean();
    expect([await kills(), (await recordsOf(taskId)).remove?.loadBalancerRequestId.attemptNumber]).toEqual([1, 2]);
  });
  test('that never was inside is killed at once', async () => {
    await serving();
    await order(await running(1));
    await clean();
    expect([await kills(), server.calls]).toEqual([1, []]);
  });
  test('of which too little is left to tell the load balancer is killed', async () => {
    const taskId = await inside();
    await tx.query('DELETE FROM deploy_history');
    await clean();
    await leave();
    await clean();
    expect([await kills(), await queued(), await recordsOf(taskId)]).toMatchObject([1, 0, { add: undefined }]);
  });
  test('leaves the queue when it may stay', async () => {
    await inside();
    await clean();
    await tx.query('DELETE FROM task_cleanup');
    await leave();
    expect([await queued(), upstreams()]).toEqual([0, ['host-1:31001']]);
  });
});

describe('a task that has ended', () => {
  test('stays out of the history until the load balancer has let go of it, and takes along what was told', async () => {
    await serving();
    const taskId = await running(1);
    await enter();
    await ends(taskId);
    expect(await get(TaskHistoryMoveRepository).move(tx, [taskId.id])).toEqual([]);
    expect((await rooms.get('/api/tasks/lbcleanup')).body).toMatchObject([{ id: taskId.id }]);
    await leave();
    expect(upstreams()).toEqual([]);
    expect((await rooms.get('/api/tasks/lbcleanup')).body).toEqual([]);
    expect(await get(TaskHistoryMoveRepository).move(tx, [taskId.id])).toEqual([taskId.id]);
    const [{ data }] = await tx.query('SELECT data FROM task_history');
    expect(data.loadBalancerUpdates).toMatchObject([
      { loadBalancerState: 'SUCCESS', loadBalancerRequestId: { id: taskId.id, requestType: 'ADD', attemptNumber: 1 } },
      { loadBalancerState: 'SUCCESS', loadBalancerRequestId: { requestType: 'REMOVE' }, method: 'ENQUEUE' },
    ]);
    expect(await tx.query('SELECT 1 FROM load_balancer_record')).toEqual([]);
  });
  test('of an old deploy leaves the description of the service as the active deploy made it', async () => {
    await serving({ activeDeployId: 'd2' });
    await insertDeploy(tx, { deploy: { id: 'd2', serviceBasePath: '/new' } });
    const taskId = await running(1);
    await get(LoadBalancerRecordRepository).save(tx, [taskId.id], 'ADD', told(taskId, 'SUCCESS'));
    await ends(taskId);
    await leave();
    expect(server.balancer.received[0]?.loadBalancerService.serviceBasePath).toBe('/new');
  });
  test('is removed although its request is gone', async () => {
    await serving();
    const taskId = await running(1);
    await enter();
    await ends(taskId);
    await tx.query('DELETE FROM request');
    await leave();
    expect(upstreams()).toEqual([]);
  });
});

test('a load balancer that does not answer holds up no request but those whose tasks it has', async () => {
  await serving();
  const inside = await running(1);
  await enter();
  await order(inside);
  await insertRequest(tx, { request: { id: 'job', requestType: 'ON_DEMAND' }, activeDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { requestId: 'job' } });
  const other = await running(1, { requestId: 'job' });
  await order(other);
  server.mode = 'mute';
  await get(LoadBalancerRemovalRepository).add(tx, [inside.id], start);
  let answered = false;
  const leaving = leave().then(() => (answered = true));
  await waitFor('the call', () => server.calls.length === 2);
  await clean();
  expect(await tx.query('SELECT task_id FROM killed_task')).toEqual([{ task_id: other.id }]);
  expect(answered).toBe(false);
  await leaving;
});

test('many tasks leave a few at a time', async () => {
  await serving({ request: { instances: 40 } });
  const tasks = await Promise.all(Array.from({ length: 40 }, (_, index) => running(index + 1)));
  for (const taskId of tasks)
    await get(LoadBalancerRecordRepository).save(tx, [taskId.id], 'ADD', told(taskId, 'SUCCESS'));
  for (const taskId of tasks) await ends(taskId);
  let atOnce = 0;
  let most = 0;
  server.balancer.beforeAnswer = async () => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce -= 1;
  };
  await leave();
  expect([await queued(), server.calls.length]).toEqual([0, 40]);
  expect(most).toBeLessThanOrEqual(16);
});

describe('a deleted request', () => {
  const deleting = async (removeFromLoadBalancer?: boolean) => {
    await serving({ state: 'DELETING' });
    await get(RequestCleanupRepository).create(tx, {
      requestId: 'web',
      cleanupType: 'DELETING',
      timestamp: start,
      removeFromLoadBalancer,
    });
  };
  test('takes its service along once its last task is off', async () => {
    await deleting(true);
    const taskId = await running(1);
    await get(LoadBalancerRecordRepository).save(tx, [taskId.id], 'ADD', told(taskId, 'SUCCESS'));
    await clean();
    await leave();
    await clean();
    expect(await kills()).toBe(1);
    await ends(taskId);
    await clean();
    expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual(['web']);
    await leave();
    expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual([]);
    const { action, loadBalancerService, loadBalancerRequestId } = server.balancer.received.at(-1)!;
    expect([action, loadBalancerRequestId]).toEqual(['DELETE', `web-${start + 10_000}-DELETE-1`]);
    expect(loadBalancerService).toMatchObject({ serviceId: 'web', serviceBasePath: '/web', loadBalancerGroups: ['g'] });
    expect(server.balancer.serving.has('web')).toBe(false);
  });
  test.each([undefined, false])('leaves it when that is not wanted: %s', async (wanted) => {
    await deleting(wanted);
    await clean();
    expect(await tx.query('SELECT 1 FROM load_balancer_deletion')).toEqual([]);
  });
  test('keeps trying as long as the load balancer is away', async () => {
    await deleting(true);
    await clean();
    server.mode = 'down';
    await leave();
    await leave();
    server.mode = 'up';
    expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual(['web']);
    await leave();
    expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual([]);
  });
  test.each<{ state: LoadBalancerState; since: number }>([
    { state: 'SUCCESS', since: 5_000 },
    { state: 'WAITING', since: 5_000 },
    // In the same millisecond, or by a clock that was set back.
    { state: 'SUCCESS', since: 0 },
    { state: 'SUCCESS', since: -60_000 },
  ])(
    'is deleted anew, ordered $since ms after the order whose call is answered with $state',
    async ({ state, since }) => {
      const orders = get(LoadBalancerDeletionRepository);
      const add = (basePath: string, at: number) =>
        rooms.database.transaction((tx) => orders.add(tx, { requestId: 'web', groups: ['g'], basePath }, at));
      await add('/web', start);
      const settle = vi.spyOn(orders, 'settle').mockImplementationOnce(async (...given) => {
        await add('/other', start + since);
        await orders.settle(...given);
      });
      server.balancer.script = () => state;
      await leave();
      settle.mockRestore();
      expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual(['web']);
      server.balancer.reset();
      await leave();
      expect(server.balancer.received.at(-1)).toMatchObject({
        action: 'DELETE',
        loadBalancerService: { serviceBasePath: '/other' },
      });
      expect((await rooms.get('/api/requests/lbcleanup')).body).toEqual([]);
    },
  );
  test('waits while a request of its id runs again', async () => {
    await deleting(true);
    await clean();
    await insertRequest(tx);
    await leave();
    expect(server.calls).toEqual([]);
  });
});

describe('upstreams without a task', () => {
  const check = (after = 0) => get(UpstreamCheckPoller).runOnce(start + after);
  const stray = (port: number) => {
    const upstream = { upstream: `host-1:${port}`, requestId: 'x', rackId: 'rack-1', group: 'default' };
    server.balancer.serving.set('web', [...(server.balancer.serving.get('web') ?? []), upstream]);
  };
  test('are removed, all others stay', async () => {
    await serving();
    await running(1);
    await enter();
    stray(40_000);
    await check(7);
    expect(upstreams()).toEqual(['host-1:31001']);
    const { loadBalancerRequestId, removeUpstreams } = server.balancer.received.at(-1)!;
    expect(loadBalancerRequestId).toBe(`web-d1-${start + 7}-REMOVE-1`);
    expect(removeUpstreams).toHaveLength(1);
  });
  test('are left alone when nothing would be left, and the next request is looked at', async () => {
    await serving();
    stray(40_000);
    await insertRequest(tx, { request: { id: 'zoo', loadBalanced: true }, activeDeployId: 'd1' });
    await insertDeploy(tx, { deploy: { requestId: 'zoo' } });
    await check();
    expect(upstreams()).toEqual(['host-1:40000']);
    expect(server.calls.sort()).toEqual(['GET /lb/state/web', 'GET /lb/state/zoo']);
  });
  test('are only looked for where a load balanced request is active with a deploy', async () => {
    await serving({ state: 'PAUSED' });
    await insertRequest(tx, { request: { id: 'plain' }, activeDeployId: 'd1' });
    await insertRequest(tx, { request: { id: 'new', loadBalanced: true } });
    await check();
    expect(server.calls).toEqual([]);
  });
  test('a removal that takes its time is asked after until it is done', async () => {
    await serving();
    await running(1);
    await enter();
    stray(40_000);
    server.balancer.script = () => 'WAITING';
    const checking = check();
    await server.balancer.seen(`web-d1-${start}-REMOVE-1`);
    await server.balancer.settle(`web-d1-${start}-REMOVE-1`, 'SUCCESS');
    await checking;
    expect(server.calls.at(-1)).toBe(`GET /lb/request/web-d1-${start}-REMOVE-1`);
    expect(upstreams()).toEqual(['host-1:31001']);
  });
  test('when the load balancer cannot be read there are none', async () => {
    await serving();
    server.mode = 'down';
    await check();
    expect(server.calls).toEqual(['GET /lb/state/web']);
  });
});

test('an answer is only written over the record that the call was made for', async () => {
  await serving();
  const taskId = await running(1);
  const records = get(LoadBalancerRecordRepository);
  const first = told(taskId, 'UNKNOWN');
  await records.save(tx, [taskId.id], 'ADD', first);
  await records.save(tx, [taskId.id], 'ADD', told(taskId, 'WAITING'));
  expect(await records.saveAnswer(tx, taskId.id, 'ADD', first, told(taskId, 'SUCCESS'))).toBe(false);
  await records.forget(tx, [taskId.id]);
  expect(await records.saveAnswer(tx, taskId.id, 'ADD', told(taskId, 'WAITING'), told(taskId, 'SUCCESS'))).toBe(false);
  expect(await recordsOf(taskId)).toEqual({ addAttemptsBefore: 1, removeAttemptsBefore: 0 });
  expect(await records.saveAnswer(tx, taskId.id, 'ADD', undefined, told(taskId, 'SUCCESS'))).toBe(true);
  expect(await records.saveAnswer(tx, taskId.id, 'ADD', undefined, told(taskId, 'FAILED'))).toBe(false);
  expect(await records.saveAnswer(tx, 'gone', 'ADD', undefined, told(taskId, 'SUCCESS'))).toBe(false);
});
