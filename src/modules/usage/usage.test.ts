import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { bytesPerMb } from '../../core/usage/amounts.js';
import { slaveUsage, utilization } from '../../../test/support/fixtures/usage.js';
import { TaskUsageRepository } from './task-usage.repository.js';
import { UsageRepository } from './usage.repository.js';
import { UsageModule } from './usage.module.js';
import { UsageCleaner } from './usage.poller.js';
import { Utilizations } from './utilizations.service.js';

let rooms: RoomApp;
const tx = () => rooms.database.pool;
beforeAll(async () => {
  rooms = await startRooms({ modules: [UsageModule], settings: { numUsageToKeep: 3 } });
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx().query(`TRUNCATE task, task_update, task_launch, task_usage, request, deploy_history, slave, slave_usage,
    request_utilization, cluster_utilization`),
);

const store = () => rooms.app.get(UsageRepository);
const insertSlave = (id: string, state = 'ACTIVE') =>
  tx().query(
    `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
     VALUES ($1, 'h', 'r', '{}', '{}', 'a', 'i', now(), now(), $2, now())`,
    [id, state],
  );
/** One sample per minute after the start, each with half a minute of processor time more. */
const insertSamples = (taskId: string, minutes: number[], requestId = 'web') =>
  tx().query(
    `INSERT INTO task_usage SELECT $1, $2, to_timestamp(($3::bigint + minute * 60000) / 1000.0), 1000, 20, minute * 30, 7, 3, minute
     FROM unnest($4::int[]) AS minute`,
    [taskId, requestId, start, minutes],
  );
const minutesKept = async (taskId: string) =>
  (await rooms.app.get(TaskUsageRepository).newest(tx(), taskId, 99)).map(
    ({ timestamp }) => (timestamp - start) / 60_000,
  );

describe('GET /api/usage/slaves', () => {
  test('has the newest usage of every slave, with its totals in bytes', async () => {
    expect((await rooms.get('/api/usage/slaves')).body).toEqual([]);
    await insertSlave('s2');
    await insertSlave('s1', 'FROZEN');
    await store().saveSlaveUsage(tx(), 's2', slaveUsage());
    await store().saveSlaveUsage(tx(), 's1', slaveUsage({ cpusTotal: undefined }));
    await store().saveSlaveUsage(tx(), 's2', slaveUsage({ cpusUsed: 3 }));
    const { cpusTotal: _cpusTotal, ...first } = slaveUsage();
    const bytes = { memoryBytesTotal: 1_000 * bytesPerMb, diskBytesTotal: 1_000 * bytesPerMb };
    const expected = [
      { ...first, slaveId: 's1', ...bytes },
      { ...slaveUsage({ cpusUsed: 3 }), slaveId: 's2', ...bytes },
    ];
    expect((await rooms.get('/api/usage/slaves')).body).toEqual(expected);
    expect((await rooms.get('/api/usage/agents')).body).toEqual(expected);
  });

  test('a DEAD slave has no usage, at once and after the next round', async () => {
    await insertSlave('s1', 'DEAD');
    await insertSlave('s2', 'MISSING_ON_STARTUP');
    for (const id of ['s1', 's2', 'unknown']) await store().saveSlaveUsage(tx(), id, slaveUsage());
    expect([...(await store().latestSlaveUsage(tx())).keys()]).toEqual(['s2']);
    await rooms.app.get(Utilizations).refresh(start);
    expect(await tx().query('SELECT slave_id FROM slave_usage')).toEqual([{ slave_id: 's2' }]);
  });
});

describe('GET /api/usage/tasks/{taskId}/history', () => {
  test('has the newest samples that are kept, oldest first', async () => {
    await insertSamples('web-d1-1-1-h-r', [3, 1, 2, 4]);
    const history = await rooms.get<{ timestamp: number }[]>('/api/usage/tasks/web-d1-1-1-h-r/history');
    expect(history.body.map(({ timestamp }) => (timestamp - start) / 60_000)).toEqual([2, 3, 4]);
    expect(history.body[0]).toEqual({
      memoryTotalBytes: 1_000,
      timestamp: start + 120_000,
      cpuSeconds: 60,
      diskTotalBytes: 20,
      cpusNrPeriods: 7,
      cpusNrThrottled: 3,
      cpusThrottledTimeSecs: 2,
    });
  });
  test('is empty when nothing was measured, and 400 when that is no task', async () => {
    expect(await rooms.get('/api/usage/tasks/web-d1-1-1-h-r/history')).toMatchObject({ status: 200, body: [] });
    expect((await rooms.get('/api/usage/tasks/nonsense/history')).status).toBe(400);
  });
});

describe('the usage cleaner', () => {
  test('keeps the newest samples of active tasks, and none of others', async () => {
    const active = await insertTask(tx());
    const short = await insertTask(tx(), { instanceNo: 2 });
    const ended = await insertTask(tx(), { instanceNo: 3, updates: [['TASK_FINISHED', start + 1]] });
    await insertSamples(active.id, [1, 2, 3, 4, 5]);
    await insertSamples(short.id, [1, 2, 3]);
    await insertSamples(ended.id, [1, 2]);
    await insertSamples('web-d1-1-1-moved-rack', [1]);
    await rooms.app.get(UsageCleaner).runOnce();
    expect(await minutesKept(active.id)).toEqual([3, 4, 5]);
    expect(await minutesKept(short.id)).toEqual([1, 2, 3]);
    expect(await tx().query('SELECT DISTINCT task_id FROM task_usage ORDER BY 1')).toEqual(
      [active.id, short.id].toSorted().map((id) => ({ task_id: id })),
    );
  });

  test('does all of many', async () => {
    await tx().query(
      `INSERT INTO task_usage SELECT 'gone-' || n, 'web', now(), 0, 0, 0, 0, 0, 0 FROM generate_series(1, 1201) n`,
    );
    await rooms.app.get(UsageCleaner).runOnce();
    expect(await tx().query('SELECT count(*)::int AS left FROM task_usage')).toEqual([{ left: 0 }]);
  });
});

describe('the utilization of requests', () => {
  const refresh = () => rooms.app.get(Utilizations).refresh(start + 600_000);
  const ofWeb = () => rooms.get('/api/usage/requests/request/web');

  test('follows from the samples of its active tasks', async () => {
    expect(await ofWeb()).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    await insertRequest(tx(), { activeDeployId: 'd1' });
    for (const instanceNo of [1, 2]) await insertSamples((await insertTask(tx(), { instanceNo })).id, [1, 2]);
    const ended = await insertTask(tx(), { instanceNo: 3, updates: [['TASK_FAILED', start + 1]] });
    await insertSamples(ended.id, [1]);
    await refresh();
    const expected = { requestId: 'web', deployId: 'd1', numTasks: 4, cpuUsed: 2, cpuReserved: 4, maxCpuUsed: 0.5 };
    expect(await ofWeb()).toMatchObject({ status: 200, body: expected });
    expect(await rooms.get('/api/usage/requests?useWebCache=true')).toMatchObject({ status: 200, body: [expected] });
  });

  test('stays when no task is left to measure, as between two runs', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1' });
    await store().saveUtilizations(tx(), [utilization({ cpuUsed: 5 })]);
    await refresh();
    expect((await ofWeb()).body).toMatchObject({ cpuUsed: 5 });
  });

  test('is dropped when a deploy succeeds: at once, and tasks of the former deploy do not bring it back', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1', pendingDeployId: 'd2' });
    await insertSamples((await insertTask(tx())).id, [1]);
    await refresh();
    expect((await ofWeb()).status).toBe(200);
    await tx().query(`UPDATE request SET active_deploy_id = 'd2', pending_deploy_id = NULL`);
    expect((await ofWeb()).status).toBe(404);
    await refresh();
    expect((await ofWeb()).status).toBe(404);
    expect(await tx().query('SELECT * FROM request_utilization')).toEqual([]);
    await insertSamples((await insertTask(tx(), { deployId: 'd2' })).id, [1]);
    await refresh();
    expect((await ofWeb()).body).toMatchObject({ deployId: 'd2', numTasks: 1 });
  });

  test('covers the tasks of a deploy in progress, too', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1', pendingDeployId: 'd2' });
    await insertSamples((await insertTask(tx())).id, [1]);
    await insertSamples((await insertTask(tx(), { deployId: 'd2' })).id, [1]);
    await refresh();
    expect((await ofWeb()).body).toMatchObject({ deployId: 'd1', numTasks: 2 });
  });

  test('goes with its request', async () => {
    await store().saveUtilizations(tx(), [utilization()]);
    expect((await ofWeb()).status).toBe(404);
    await refresh();
    expect(await tx().query('SELECT * FROM request_utilization')).toEqual([]);
  });

  test('is computed for any number of requests', async () => {
    await tx().query(
      `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
       SELECT 'r' || n, 'SERVICE', 'ACTIVE', now(), 'd1', '{}' FROM generate_series(1, 120) n`,
    );
    for (let n = 1; n <= 120; n++) {
      const requestId = `r${n}`;
      await insertSamples((await insertTask(tx(), { requestId })).id, [1], requestId);
    }
    await refresh();
    expect((await rooms.get<unknown[]>('/api/usage/requests')).body).toHaveLength(120);
    const some = await store().utilizations(tx(), ['r7', 'r5', 'nope']);
    expect([...some.keys()]).toEqual(['r5', 'r7']);
  });
});

describe('GET /api/usage/cluster/utilization', () => {
  const refresh = () => rooms.app.get(Utilizations).refresh(start);
  const cluster = () => rooms.get('/api/usage/cluster/utilization');

  test('is 404 until it was computed', async () => {
    expect(await cluster()).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    await refresh();
    expect(await cluster()).toMatchObject({ status: 200, body: { totalCpuUsed: 0, timestamp: start } });
  });

  test('compares what deploys ask for with what their requests use; what a deploy leaves open has its default', async () => {
    await insertSlave('s1');
    await store().saveSlaveUsage(tx(), 's1', slaveUsage({ cpusUsed: 2 }));
    for (const [id, resources] of [
      ['known', { cpus: 2, memoryMb: 10 }],
      ['partly', { numPorts: 1 }],
      ['unknown', undefined],
    ] as const) {
      await insertRequest(tx(), { request: { id }, activeDeployId: 'd1' });
      await insertDeploy(tx(), { deploy: { requestId: id, resources } });
      await store().saveUtilizations(tx(), [utilization({ requestId: id, cpuUsed: 0.5 })]);
    }
    await refresh();
    expect((await cluster()).body).toMatchObject({
      numRequestsWithUnderUtilizedCpu: 2,
      totalUnderUtilizedCpu: 2,
      maxUnderUtilizedCpuRequestId: 'known',
      totalUnderUtilizedMemBytes: 74 * bytesPerMb,
      totalCpuUsed: 2,
      totalCpuAvailable: 10,
    });
  });
});
