import { expect, test } from 'vitest';
import { amountsOf, bytesPerMb } from './amounts.js';
import { clusterUtilization, type UtilizedRequest } from './utilization.js';
import { slaveUsage, utilization } from '../../../test/support/fixtures/usage.js';

/** A request that asks for 2 cores, 100 MB of memory and 50 MB of disk; average use over two intervals. */
const request = (
  requestId: string,
  { cpus = 2, memoryMb = 100, diskMb = 50 }: { cpus?: number; memoryMb?: number; diskMb?: number },
): UtilizedRequest => ({
  utilization: utilization({
    requestId,
    numTasks: 2,
    cpuUsed: 2 * cpus,
    memBytesUsed: 2 * memoryMb * bytesPerMb,
    diskBytesUsed: 2 * diskMb * bytesPerMb,
  }),
  asked: amountsOf({ cpus: 2, memoryMb: 100, diskMb: 50 }),
});
const none = {
  numRequestsWithUnderUtilizedCpu: 0,
  totalUnderUtilizedCpu: 0,
  avgUnderUtilizedCpu: 0,
  maxUnderUtilizedCpu: 0,
  minUnderUtilizedCpu: 0,
  maxUnderUtilizedCpuRequestId: undefined,
};

test('without requests everything is zero and no request is named', () => {
  const empty = clusterUtilization([], [], 7);
  expect(empty).toMatchObject({ ...none, timestamp: 7 });
  const { timestamp: _timestamp, ...figures } = empty;
  expect(Object.values(figures).filter(Boolean)).toEqual([]);
});

test('a request that uses exactly what it asks for counts nowhere', () =>
  expect(clusterUtilization([request('a', {})], [], 0)).toMatchObject({
    ...none,
    numRequestsWithOverUtilizedCpu: 0,
    numRequestsWithUnderUtilizedMemBytes: 0,
    numRequestsWithUnderUtilizedDiskBytes: 0,
  }));

test('unused cpu: count, total, average, highest with its request, lowest', () =>
  expect(
    clusterUtilization([request('a', { cpus: 1.5 }), request('b', { cpus: 0.5 }), request('c', { cpus: 1 })], [], 0),
  ).toMatchObject({
    numRequestsWithUnderUtilizedCpu: 3,
    totalUnderUtilizedCpu: 3,
    avgUnderUtilizedCpu: 1,
    maxUnderUtilizedCpu: 1.5,
    maxUnderUtilizedCpuRequestId: 'b',
    minUnderUtilizedCpu: 0.5,
  }));

test('more cpu than asked for counts by what is too much', () =>
  expect(clusterUtilization([request('a', { cpus: 3 }), request('b', { cpus: 2.5 })], [], 0)).toMatchObject({
    ...none,
    numRequestsWithOverUtilizedCpu: 2,
    totalOverUtilizedCpu: 1.5,
    avgOverUtilizedCpu: 0.75,
    maxOverUtilizedCpu: 1,
    maxOverUtilizedCpuRequestId: 'a',
    minOverUtilizedCpu: 0.5,
  }));

test('unused memory and disk, each with a lowest value of its own', () =>
  expect(
    clusterUtilization([request('a', { memoryMb: 90, diskMb: 10 }), request('b', { memoryMb: 40, diskMb: 30 })], [], 0),
  ).toMatchObject({
    numRequestsWithUnderUtilizedMemBytes: 2,
    totalUnderUtilizedMemBytes: 70 * bytesPerMb,
    avgUnderUtilizedMemBytes: 35 * bytesPerMb,
    maxUnderUtilizedMemBytes: 60 * bytesPerMb,
    maxUnderUtilizedMemBytesRequestId: 'b',
    minUnderUtilizedMemBytes: 10 * bytesPerMb,
    numRequestsWithUnderUtilizedDiskBytes: 2,
    totalUnderUtilizedDiskBytes: 60 * bytesPerMb,
    avgUnderUtilizedDiskBytes: 30 * bytesPerMb,
    maxUnderUtilizedDiskBytes: 40 * bytesPerMb,
    maxUnderUtilizedDiskBytesRequestId: 'a',
    minUnderUtilizedDiskBytes: 20 * bytesPerMb,
  }));

test('more memory or disk than asked for counts nowhere', () =>
  expect(clusterUtilization([request('a', { memoryMb: 200, diskMb: 200 })], [], 0)).toMatchObject({
    numRequestsWithUnderUtilizedMemBytes: 0,
    numRequestsWithUnderUtilizedDiskBytes: 0,
  }));

test('of equally wasteful requests the smaller id is named, whatever their order', () => {
  const both = [request('b', { cpus: 1 }), request('a', { cpus: 1 })];
  expect(clusterUtilization(both, [], 0).maxUnderUtilizedCpuRequestId).toBe('a');
  expect(clusterUtilization(both.toReversed(), [], 0).maxUnderUtilizedCpuRequestId).toBe('a');
});

test('used and available resources are summed over the slaves whose totals are known', () => {
  const used = { cpusUsed: 2, memoryBytesUsed: 10, diskBytesUsed: 20 };
  const slaves = [slaveUsage(used), slaveUsage(used), slaveUsage({ ...used, cpusTotal: undefined })];
  expect(clusterUtilization([], slaves, 0)).toMatchObject({
    totalCpuUsed: 4,
    totalCpuAvailable: 20,
    totalMemBytesUsed: 20,
    totalMemBytesAvailable: 2_000 * bytesPerMb,
    totalDiskBytesUsed: 40,
    totalDiskBytesAvailable: 2_000 * bytesPerMb,
  });
});
