import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RequestUtilization, TaskUsage } from '../model/usage.js';
import { bytesPerMb } from './amounts.js';
import { type MeasuredTask, requestUtilization } from './utilization.js';
import { taskUsage, utilization } from '../../../test/support/fixtures/usage.js';

const hour = 3_600_000;
const key = { requestId: 'web', deployId: 'd1' };
const measured = (samples: TaskUsage[], changes: Partial<MeasuredTask> = {}): MeasuredTask => ({
  startedAt: 0,
  cpus: 1,
  memoryMb: 64,
  diskMb: 8,
  samples,
  ...changes,
});
const from = (tasks: MeasuredTask[], former?: RequestUtilization, now = hour) =>
  requestUtilization(key, tasks, former, now);

/** Two intervals: 0.5 and 2 cores. */
const busy = measured([
  taskUsage(10_000, { cpuSeconds: 5, memoryTotalBytes: 100, diskTotalBytes: 7, cpusThrottledTimeSecs: 1 }),
  taskUsage(20_000, { cpuSeconds: 25, memoryTotalBytes: 300, diskTotalBytes: 3, cpusThrottledTimeSecs: 6 }),
]);

describe('request utilization', () => {
  test('each interval counts once, the first one since the task started', () => {
    expect(from([busy])).toEqual({
      ...key,
      numTasks: 2,
      cpuUsed: 2.5,
      memBytesUsed: 400,
      diskBytesUsed: 10,
      percentCpuTimeThrottled: 0.6,
      cpuReserved: 2,
      memBytesReserved: 2 * 64 * bytesPerMb,
      diskBytesReserved: 2 * 8 * bytesPerMb,
      maxCpuUsed: 2,
      maxCpusTimestamp: 20_000,
      minCpuUsed: 0.5,
      minCpusTimestamp: 10_000,
      maxMemBytesUsed: 300,
      maxMemTimestamp: 20_000,
      minMemBytesUsed: 100,
      minMemTimestamp: 10_000,
      maxDiskBytesUsed: 7,
      maxDiskTimestamp: 10_000,
      minDiskBytesUsed: 3,
      minDiskTimestamp: 20_000,
      maxPercentCpuTimeThrottled: 0.5,
      maxCpuThrottledTimestamp: 20_000,
      minPercentCpuTimeThrottled: 0.1,
      minCpuThrottledTimestamp: 10_000,
      cpuBurstRating: 1 / 3,
    });
  });

  test('all tasks of the request count, each with what it asked for', () => {
    const idle = measured([taskUsage(10_000)], { cpus: 4, memoryMb: 1, diskMb: 0 });
    expect(from([busy, idle])).toMatchObject({
      numTasks: 3,
      cpuUsed: 2.5,
      cpuReserved: 6,
      memBytesReserved: 129 * bytesPerMb,
      minCpuUsed: 0,
      maxCpuUsed: 2,
    });
  });

  test('the burst rating is the share of intervals above the requested cpu, over one more than there are', () => {
    expect(from([busy, { ...busy, cpus: 2 }])!.cpuBurstRating).toBe(1 / 5);
    expect(from([{ ...busy, cpus: 2 }])!.cpuBurstRating).toBe(0);
  });

  test('samples of one moment count once, and counters that went back tell of no use', () => {
    const back = measured([
      taskUsage(10_000, { cpuSeconds: 9 }),
      taskUsage(10_000, { cpuSeconds: 9 }),
      taskUsage(20_000),
    ]);
    expect(from([back])).toMatchObject({ numTasks: 2, minCpuUsed: 0 });
  });

  test('nothing measured leaves what was known; nothing known is nothing', () => {
    const former = utilization();
    expect(from([measured([])], former)).toBe(former);
    expect(from([measured([])])).toBeUndefined();
  });
});

describe('highest and lowest values', () => {
  const former = utilization({
    ...key,
    maxCpuUsed: 9,
    maxCpusTimestamp: 5_000,
    minCpuUsed: 0.1,
    minCpusTimestamp: 6_000,
    maxDiskBytesUsed: 99,
    maxDiskTimestamp: 7_000,
    minDiskBytesUsed: 1,
    minDiskTimestamp: 8_000,
  });
  test('are kept for 24 hours', () => {
    expect(from([busy], former, 5_000 + 24 * hour - 1)).toMatchObject({
      maxCpuUsed: 9,
      maxCpusTimestamp: 5_000,
      minCpuUsed: 0.1,
      minCpusTimestamp: 6_000,
      maxDiskBytesUsed: 99,
      maxDiskTimestamp: 7_000,
      minDiskBytesUsed: 1,
      minDiskTimestamp: 8_000,
    });
  });
  test('and not any longer, each by its own time', () => {
    const later = from([busy], former, 6_500 + 24 * hour);
    expect(later).toMatchObject({ maxCpuUsed: 2, maxCpusTimestamp: 20_000, minCpuUsed: 0.5, minCpusTimestamp: 10_000 });
    expect(later).toMatchObject({ maxDiskBytesUsed: 99, minDiskBytesUsed: 1 });
  });
  test('of another deploy are forgotten', () => {
    expect(from([busy], { ...former, deployId: 'd0' })).toMatchObject({ maxCpuUsed: 2, minCpuUsed: 0.5 });
  });
});

describe('laws of request utilization', () => {
  const samples = fc
    .array(
      fc.record({
        after: fc.integer({ min: 1, max: 100_000 }),
        cpuSeconds: fc.integer({ min: 0, max: 100 }),
        memoryTotalBytes: fc.integer({ min: 0, max: 1_000 }),
        diskTotalBytes: fc.integer({ min: 0, max: 1_000 }),
        cpusThrottledTimeSecs: fc.integer({ min: 0, max: 100 }),
      }),
      { maxLength: 6 },
    )
    .map((steps) => {
      let timestamp = 0;
      return steps.map(({ after, ...figures }) => taskUsage((timestamp += after), figures));
    });
  const tasks = fc.array(
    fc.tuple(samples, fc.integer({ min: 0, max: 3 })).map(([all, cpus]) => measured(all, { cpus })),
    { minLength: 1, maxLength: 5 },
  );

  test('averages lie between the lowest and the highest value', () =>
    fc.assert(
      fc.property(tasks, (all) => {
        const result = from(all);
        if (!result) return;
        const { numTasks } = result;
        for (const [min, sum, max] of [
          [result.minCpuUsed, result.cpuUsed, result.maxCpuUsed],
          [result.minMemBytesUsed, result.memBytesUsed, result.maxMemBytesUsed],
          [result.minDiskBytesUsed, result.diskBytesUsed, result.maxDiskBytesUsed],
        ] as const) {
          expect(sum / numTasks).toBeGreaterThanOrEqual(min - 1e-9);
          expect(sum / numTasks).toBeLessThanOrEqual(max + 1e-9);
        }
        expect(result.cpuBurstRating).toBeGreaterThanOrEqual(0);
        expect(result.cpuBurstRating).toBeLessThan(1);
      }),
    ));

  test('the order of the tasks never changes the figures', () =>
    fc.assert(
      fc.property(tasks, (all) => {
        const [one, other] = [from(all), from(all.toReversed())];
        expect(other?.cpuUsed ?? 0).toBeCloseTo(one?.cpuUsed ?? 0, 9);
        expect(other?.percentCpuTimeThrottled ?? 0).toBeCloseTo(one?.percentCpuTimeThrottled ?? 0, 9);
        const sums = { cpuUsed: 0, percentCpuTimeThrottled: 0 };
        expect({ ...other, ...sums }).toEqual({ ...one, ...sums });
      }),
    ));
});
