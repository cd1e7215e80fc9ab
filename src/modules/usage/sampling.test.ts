import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { SimulatedUse } from '../../../test/support/simulated-cluster/script.js';
import { bytesPerMb } from '../../core/usage/amounts.js';
import type { RequestType } from '../../core/model/enums.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { toMetrics } from '../metrics/metrics.service.js';
import { NotLeaderError } from '../../platform/leadership/leadership.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { UsageRechecks } from '../../scheduler/memory/usage-rechecks.service.js';
import { RequestRepository } from '../requests/request.repository.js';
import { TaskUsageRepository } from './task-usage.repository.js';
import { UsagePoller } from './usage.poller.js';
import { UsageRepository } from './usage.repository.js';
import { UsageModule } from './usage.module.js';

const minute = 60_000;
let world: SchedulerWorld;
/** Use of the tasks of each request, by its id. */
let uses: Record<string, SimulatedUse>;

async function startWorld(settings: Parameters<typeof SchedulerWorld.start>[0] = {}) {
  world = await SchedulerWorld.start({ machines: 2, modules: [UsageModule], ...settings });
  uses = {};
  world.cluster.onLaunch(({ requestId }) => ({ uses: uses[requestId] }));
}
const sample = () => world.get(UsagePoller).runOnce(world.now);
const usages = () => world.get(UsageRepository).latestSlaveUsage(world.db.pool);
const usageOf = async (slaveId: string) => (await usages()).get(slaveId)!;
const samplesOf = (taskId: string) => world.get(TaskUsageRepository).newest(world.db.pool, taskId, 99);
async function run(requestId: string, instances = 1, requestType: RequestType = 'SERVICE') {
  await world.deployed({ id: requestId, requestType, instances });
  await world.run(2);
}
const onlyTask = async (requestId: string) => {
  const [task] = await world.active(requestId);
  return task!;
};
const wait = (millis: number) => world.cluster.advance(millis);

describe('sampling', () => {
  beforeEach(() => startWorld());
  afterEach(() => world.close());

  test('stores what each task uses, and the sum for its slave', async () => {
    uses['web'] = { cpus: 0.75, memoryMb: 32, diskMb: 2, throttled: 0.25 };
    await run('web');
    await sample();
    await wait(minute);
    await sample();
    const task = await onlyTask('web');
    const [first, second] = await samplesOf(task.taskId.id);
    expect(second!.timestamp - first!.timestamp).toBe(minute);
    expect(second!.cpuSeconds - first!.cpuSeconds).toBeCloseTo(45, 9);
    expect(second!.cpusThrottledTimeSecs - first!.cpusThrottledTimeSecs).toBeCloseTo(15, 9);
    expect(second).toMatchObject({ memoryTotalBytes: 32 * bytesPerMb, diskTotalBytes: 2 * bytesPerMb });
    const usage = await usageOf(task.slaveId);
    expect(usage).toMatchObject({
      cpusReserved: 1,
      cpusTotal: 16,
      memoryBytesUsed: 32 * bytesPerMb,
      memoryMbReserved: 64,
      memoryMbTotal: 65_536,
      diskBytesUsed: 2 * bytesPerMb,
      numTasks: 1,
      timestamp: world.now,
      systemCpusTotal: 16,
      systemLoad5Min: 0.75,
    });
    expect(usage.cpusUsed).toBeCloseTo(0.75, 9);
  });

  test('the first sample tells the current cpu since TASK_STARTING', async () => {
    uses['web'] = { cpus: 0.5 };
    await run('web');
    await wait(minute);
    await sample();
    expect((await usageOf((await onlyTask('web')).slaveId)).cpusUsed).toBeCloseTo(0.5, 1);
  });

  test('counts tasks of ours only, and none that has ended', async () => {
    await run('web');
    const task = await onlyTask('web');
    await world.query('DELETE FROM task WHERE task_id = $1', [task.taskId.id]);
    await sample();
    expect(await usageOf(task.slaveId)).toMatchObject({ numTasks: 0, memoryBytesUsed: 0, cpusReserved: 0 });
    expect(await samplesOf(task.taskId.id)).toEqual([]);
  });

  test('what agents removed from their disks is in the metrics, of those that told it last', async () => {
    const told = {
      agentId: 'agent-1',
      sandboxDiskUsedBytes: 70,
      sandboxDiskTotalBytes: 100,
      lastCleanupAt: 5_000,
      failures: 2,
      removed: [{ reason: 'DISK_FULL' as const, count: 3, bytes: 1_000 }],
    };
    world.cluster.usages.set('slave-1', { agent: told });
    await sample();
    const figures = async () => toMetrics((await world.get(Metrics).registry.getMetricsAsJSON()) as never);
    expect(await figures()).toMatchObject({
      'muster_agent_disk_bytes{agent=agent-1,what=used}': { value: 70 },
      'muster_agent_disk_bytes{agent=agent-1,what=total}': { value: 100 },
      'muster_agent_removed_total{agent=agent-1,reason=DISK_FULL}': { count: 3 },
      'muster_agent_freed_bytes_total{agent=agent-1,reason=DISK_FULL}': { count: 1_000 },
      'muster_agent_removal_failures_total{agent=agent-1}': { count: 2 },
      'muster_agent_cleanup_time_seconds{agent=agent-1}': { value: 5 },
    });
    world.cluster.usages.delete('slave-1');
    await sample();
    expect(Object.keys(await figures()).filter((name) => name.startsWith('muster_agent_'))).toEqual([]);
  });

  test('a slave that does not answer keeps its old usage, and the others are sampled', async () => {
    await sample();
    const before = await usageOf('slave-1');
    world.cluster.setReachable('slave-1', false);
    await wait(minute);
    await sample();
    expect(await usageOf('slave-1')).toEqual(before);
    expect(await usageOf('slave-2')).toMatchObject({ timestamp: world.now });
  });

  test.each(['DEAD', 'MISSING_ON_STARTUP', 'DECOMMISSIONED'])('a slave that is %s is not sampled', async (state) => {
    await world.query(`UPDATE slave SET state = $1 WHERE id = 'slave-1'`, [state]);
    await sample();
    expect([...(await usages()).keys()]).toEqual(['slave-2']);
  });

  test.each(['FROZEN', 'STARTING_DECOMMISSION', 'DECOMMISSIONING'])('a slave that is %s is sampled', async (state) => {
    await world.query(`UPDATE slave SET state = $1 WHERE id = 'slave-1'`, [state]);
    await sample();
    expect([...(await usages()).keys()]).toEqual(['slave-1', 'slave-2']);
  });

  test('a slave that dies loses its usage at once', async () => {
    await sample();
    world.cluster.removeMachine('slave-1');
    await wait(0);
    expect([...(await usages()).keys()]).toEqual(['slave-2']);
  });

  test('a deposed leader stores nothing', async () => {
    const poller = world.get(UsagePoller);
    await sample();
    const before = [...(await usages())];
    await world.overtake();
    await wait(minute);
    await expect(poller.runOnce(world.now)).rejects.toThrow(NotLeaderError);
    expect([...(await usages())]).toEqual(before);
  });

  test('utilization follows from the samples in the same pass', async () => {
    uses['web'] = { cpus: 2 };
    await run('web', 2);
    await wait(minute);
    await sample();
    const figures = (await world.get(UsageRepository).utilizations(world.db.pool)).get('web')!;
    expect(figures).toMatchObject({ deployId: 'd1', numTasks: 2, cpuReserved: 2 });
    expect(figures.cpuUsed).toBeCloseTo(4, 1);
    expect(figures.cpuBurstRating).toBeCloseTo(2 / 3, 9);
    const cluster = (await world.get(UsageRepository).clusterUtilization(world.db.pool))!;
    expect(cluster).toMatchObject({ maxOverUtilizedCpuRequestId: 'web', numRequestsWithOverUtilizedCpu: 1 });
  });
});

test('no more slaves are asked at once than the settings allow', async () => {
  await startWorld({ machines: 20, settings: { maxConcurrentUsageCollections: 3 } });
  const ask = world.driver.machineUsage.bind(world.driver);
  let asking = 0;
  let most = 0;
  world.driver.machineUsage = async (slaveId) => {
    most = Math.max(most, ++asking);
    await new Promise((resolve) => setImmediate(resolve));
    asking--;
    return ask(slaveId);
  };
  await sample();
  expect(most).toBe(3);
  expect((await usages()).size).toBe(20);
  await world.close();
});

describe('shuffling', () => {
  const cleanups = () =>
    world.query<{ request_id: string; cleanup_type: string; action_id: string; message: string }>(
      'SELECT * FROM task_cleanup ORDER BY request_id',
    );
  const bounces = () =>
    world.query<{ request_id: string; action_id: string }>(
      `SELECT request_id, action_id FROM pending_request WHERE pending_type = 'TASK_BOUNCE' ORDER BY request_id`,
    );
  const overload = (figures: { load5Min?: number; memFreeBytes?: number }) =>
    world.cluster.usages.set('slave-1', figures);
  beforeAll(() =>
    startWorld({
      machines: 1,
      settings: { shuffleTasksForOverloadedSlaves: true, minutesBeforeNewTaskEligibleForShuffle: 1 },
    }),
  );
  beforeAll(async () => {
    for (const id of ['api', 'listed', 'web']) uses[id] = { cpus: 1 };
    uses['web'] = { cpus: 2 };
    for (const id of ['api', 'listed', 'web']) await run(id);
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run(2);
    await wait(2 * minute);
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.query('TRUNCATE task_cleanup, pending_request, shuffle_blacklist');
    world.cluster.usages.clear();
    await wait(minute);
  });

  test('a task of a slave with too much load gets its cleanup and a replacement under one action id', async () => {
    overload({ load5Min: 16.5 });
    await sample();
    const [cleanup, ...others] = await cleanups();
    expect(others).toEqual([]);
    expect(cleanup).toMatchObject({
      request_id: 'web',
      cleanup_type: 'REBALANCE_CPU_USAGE',
      message: "Load on slave 'slave-1' is 16.50, more than its 16 cores",
    });
    expect(await bounces()).toEqual([{ request_id: 'web', action_id: cleanup!.action_id }]);
    const updates = await world.query<{ message: string }>(
      `SELECT message FROM task_update WHERE state = 'TASK_CLEANING' AND task_id = $1`,
      [(await onlyTask('web')).taskId.id],
    );
    expect(updates[0]!.message).toMatch(/^REBALANCE_CPU_USAGE - Load/);
  });

  test('too little free memory is REBALANCE_MEMORY_USAGE', async () => {
    overload({ memFreeBytes: 0 });
    await sample();
    expect((await cleanups()).map((row) => row.cleanup_type)).toEqual([
      'REBALANCE_MEMORY_USAGE',
      'REBALANCE_MEMORY_USAGE',
    ]);
  });

  test('those on the move count in the next pass, and are not told twice', async () => {
    overload({ load5Min: 40 });
    await sample();
    expect(await cleanups()).toHaveLength(2);
    await wait(minute);
    await sample();
    expect(await cleanups()).toHaveLength(2);
    expect(await bounces()).toHaveLength(2);
  });

  test('requests on the blacklist and runs stay', async () => {
    await world.query(`INSERT INTO shuffle_blacklist VALUES ('listed'), ('web')`);
    overload({ load5Min: 40 });
    await sample();
    expect((await cleanups()).map((row) => row.request_id)).toEqual(['api']);
  });

  test('a task of a request that is put on the blacklist after the look stays', async () => {
    const requests = world.get(RequestRepository);
    const { lock } = requests;
    const locks = vi.spyOn(requests, 'lock').mockImplementationOnce(async (tx, id) => {
      const stored = await lock.call(requests, tx, id);
      await world.query('INSERT INTO shuffle_blacklist VALUES ($1)', [id]);
      return stored;
    });
    overload({ load5Min: 16.5 });
    await sample();
    expect(locks).toHaveBeenCalledTimes(1);
    locks.mockRestore();
    expect([await cleanups(), await bounces()]).toEqual([[], []]);
  });

  test('nothing is shuffled while TASK_SHUFFLE is switched off', async () => {
    const actions = world.get(DisabledActions);
    const before = actions.isDisabled;
    actions.isDisabled = (action) => Promise.resolve(action === 'TASK_SHUFFLE');
    overload({ load5Min: 40 });
    await sample();
    actions.isDisabled = before;
    expect(await cleanups()).toEqual([]);
  });

  test('a task of a request that was paused meanwhile stays', async () => {
    await world.changeRequest('web', {}, 'PAUSED');
    overload({ load5Min: 16.5 });
    await sample();
    await world.changeRequest('web', {}, 'ACTIVE');
    expect(await cleanups()).toEqual([]);
    expect(await bounces()).toEqual([]);
  });
});

test('shuffling is off unless it is switched on', async () => {
  await startWorld({ machines: 1, settings: { minutesBeforeNewTaskEligibleForShuffle: 0 } });
  await run('web');
  await wait(minute);
  world.cluster.usages.set('slave-1', { load5Min: 99, memFreeBytes: 0 });
  await sample();
  expect(await world.query('SELECT 1 FROM task_cleanup')).toEqual([]);
  await world.close();
});

describe('asking slaves for their load again', () => {
  const trusted = async (startedSince: Record<string, number>) => {
    const answer = await world.get(UsageRechecks).trusted(await usages(), new Map(Object.entries(startedSince)));
    return [...answer.keys()];
  };
  beforeAll(async () => {
    await startWorld({ machines: 3, settings: { reCheckMetricsForLargeNewTaskCount: true } });
    await sample();
  });
  afterAll(() => world.close());
  afterEach(() => {
    world.cluster.usages.clear();
    world.cluster.setReachable('slave-3', true);
  });

  test('a slave on which many tasks started since its sample counts as unknown when it is busy now', async () => {
    for (const slaveId of ['slave-1', 'slave-2']) world.cluster.usages.set(slaveId, { load5Min: 15 });
    expect(await trusted({ 'slave-1': 5, 'slave-3': 5 })).toEqual(['slave-2', 'slave-3']);
  });

  test('so does one that does not answer', async () => {
    world.cluster.setReachable('slave-3', false);
    expect(await trusted({ 'slave-3': 1 })).toEqual(['slave-1', 'slave-2']);
    expect(await trusted({})).toEqual(['slave-1', 'slave-2', 'slave-3']);
  });
});
