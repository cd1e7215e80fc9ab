import { beforeAll, expect, test } from 'vitest';
import type { ClusterUtilization, RequestUtilization, SlaveUsage, TaskUsage } from '../../src/core/model/usage.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed } from './running-tasks.js';

const operations = operationsOf(['Resource usage'], {
  settings: { checkUsageEveryMillis: 2_000, numUsageToKeep: 3, cleanUsageEveryMillis: 600_000 },
});
const cpus = 0.1;
const memoryMb = 64;
let taskId: string;

const utilizations = (query: Record<string, boolean> = {}) =>
  operations.call<RequestUtilization[]>('GET /api/usage/requests', 200, { query });
const history = (id: string) =>
  operations.call<TaskUsage[]>('GET /api/usage/tasks/{taskId}/history', 200, { params: { taskId: id } });

beforeAll(async () => {
  const { api } = operations;
  // Writes a file of 2 MB, and counts from time to time.
  const counts = 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; sleep 0.1';
  const command = `dd if=/dev/zero of=file bs=1M count=2 2>/dev/null; while :; do ${counts}; done`;
  await deployed(api, { id: 'busy' }, { command, resources: { cpus, memoryMb, diskMb: 8 } });
  const [task] = await api.running('busy', 1);
  taskId = task!.taskId.id;
});

test('the kept samples of a task are listed, oldest first; none of one that was not sampled', async () => {
  const samples = await waitFor('as many samples as are kept', async () => {
    const found = await history(taskId);
    return found.length === 3 && found[0]!.diskTotalBytes >= 2_000_000 && found;
  });
  const times = samples.map(({ timestamp }) => timestamp);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(samples[2]!.cpuSeconds).toBeGreaterThan(samples[0]!.cpuSeconds);
  expect(samples[2]!.memoryTotalBytes).toBeGreaterThan(0);
  expect(await history('web-d1-1700000000000-1-host-rack')).toEqual([]);
  const params = { taskId: 'nope' };
  const refused = await operations.call<{ message: string }>('GET /api/usage/tasks/{taskId}/history', 400, { params });
  expect(refused.message).toContain('taskId');
});

test('a slave shows what its tasks use and have asked for, and what it has', async () => {
  const slaves = await operations.call<(SlaveUsage & { slaveId: string })[]>('GET /api/usage/slaves', 200);
  expect(slaves).toMatchObject([
    {
      slaveId: 'slave1',
      numTasks: 1,
      cpusReserved: cpus,
      cpusTotal: 8,
      memoryMbReserved: memoryMb,
      memoryMbTotal: 8192,
      memoryBytesTotal: 8192 * 1_048_576,
      diskMbReserved: 8,
      diskMbTotal: 1024,
      diskBytesTotal: 1024 * 1_048_576,
    },
  ]);
  const [slave] = slaves;
  expect(slave!.cpusUsed).toBeGreaterThan(0);
  expect(slave!.diskBytesUsed).toBeGreaterThan(2_000_000);
  expect(slave!.systemMemTotalBytes).toBeGreaterThan(slave!.systemMemFreeBytes);
  expect(Date.now() - slave!.timestamp).toBeLessThan(60_000);
  // By the name of newer clients; a sample may have come in between.
  const [byOtherName] = await operations.api.get<typeof slaves>('usage/agents');
  expect(Object.keys(byOtherName!)).toEqual(Object.keys(slave!));
  expect(byOtherName).toMatchObject({ slaveId: 'slave1', cpusReserved: cpus });
});

test('requests show what their tasks use, whatever caller asks; one that has no samples is not found', async () => {
  const of = (requestId: string, status: number, query: Record<string, boolean> = {}) =>
    operations.call<RequestUtilization>('GET /api/usage/requests/request/{requestId}', status, {
      params: { requestId },
      query,
    });
  const busy = await waitFor('the utilization', async () =>
    (await utilizations()).find(({ numTasks }) => numTasks >= 3),
  );
  expect(busy).toMatchObject({ requestId: 'busy', deployId: 'd1' });
  expect(busy.cpuReserved).toBeCloseTo(cpus * busy.numTasks);
  expect(busy.memBytesReserved).toBe(memoryMb * 1_048_576 * busy.numTasks);
  expect(busy.maxCpuUsed).toBeGreaterThanOrEqual(busy.minCpuUsed);
  expect(busy.maxDiskBytesUsed).toBeGreaterThan(2_000_000);
  expect(await utilizations({ useWebCache: true })).toMatchObject([{ requestId: 'busy' }]);
  for (const useWebCache of [true, false]) {
    expect(await of('busy', 200, { useWebCache })).toMatchObject({ requestId: 'busy', deployId: 'd1' });
  }
  expect(await of('nope', 404)).toMatchObject({ message: `Request 'nope' has no utilization` });
  const query = { useWebCache: 'maybe' };
  const refused = await operations.call<{ message: string }>('GET /api/usage/requests', 400, { query });
  expect(refused.message).toContain('useWebCache');
});

test('the cluster shows how far what is asked for and what is used lie apart', async () => {
  const shown = await operations.call<ClusterUtilization>('GET /api/usage/cluster/utilization', 200);
  expect(shown).toMatchObject({
    numRequestsWithUnderUtilizedMemBytes: 1,
    maxUnderUtilizedMemBytesRequestId: 'busy',
    totalMemBytesAvailable: 8192 * 1_048_576,
    totalDiskBytesAvailable: 1024 * 1_048_576,
    totalCpuAvailable: 8,
  });
  expect(shown.totalCpuUsed).toBeGreaterThan(0);
  expect(shown.avgUnderUtilizedMemBytes).toBe(shown.totalUnderUtilizedMemBytes);
});

everyOperationWasCalled(operations);
