import { describe, expect, test } from 'vitest';
import { bytesPerMb, currentCpus, type SampledTask, slaveUsage } from './amounts.js';
import { taskUsage } from '../../../test/support/fixtures/usage.js';

const sampled = (changes: Partial<SampledTask> = {}): SampledTask => ({
  taskId: 't1',
  cpus: 1,
  memoryMb: 128,
  diskMb: 10,
  ...changes,
});

describe('the current cpu of a task', () => {
  test.each<{ rule: string; task: Partial<SampledTask>; cpus: number | undefined }>([
    {
      rule: 'is processor time by whole seconds since the sample before',
      task: { previous: { timestamp: 10_000, cpuSeconds: 4 }, sample: taskUsage(70_900, { cpuSeconds: 34 }) },
      cpus: 0.5,
    },
    {
      rule: 'of the first sample: since TASK_STARTING',
      task: { startingAt: 0, sample: taskUsage(20_000, { cpuSeconds: 5 }) },
      cpus: 0.25,
    },
    {
      rule: 'is unknown without TASK_STARTING and without a sample before',
      task: { sample: taskUsage(20_000) },
      cpus: undefined,
    },
    { rule: 'is unknown without a sample', task: { startingAt: 0 }, cpus: undefined },
    {
      rule: 'is unknown within the first second',
      task: { startingAt: 0, sample: taskUsage(999, { cpuSeconds: 1 }) },
      cpus: undefined,
    },
    {
      rule: 'is never negative, even if a counter went back',
      task: { previous: { timestamp: 0, cpuSeconds: 9 }, sample: taskUsage(60_000, { cpuSeconds: 1 }) },
      cpus: 0,
    },
  ])('$rule', ({ task, cpus }) => expect(currentCpus(sampled(task))).toBe(cpus));
});

test('the usage of a slave sums up its tasks, beside what the machine says and what it offers', () => {
  const figures = {
    timestamp: 60_000,
    memTotalBytes: 1_000,
    memFreeBytes: 400,
    cpus: 16,
    load1Min: 1,
    load5Min: 5,
    load15Min: 15,
    diskUsedBytes: 3 * bytesPerMb,
    diskTotalBytes: 9 * bytesPerMb,
  };
  const tasks = [
    sampled({
      startingAt: 0,
      sample: taskUsage(60_000, { cpuSeconds: 30, memoryTotalBytes: 100, diskTotalBytes: 7 }),
    }),
    sampled({ cpus: 2, sample: taskUsage(60_000, { memoryTotalBytes: 50, diskTotalBytes: 1 }) }),
    sampled({ cpus: 0.5, memoryMb: 1 }),
  ];
  expect(slaveUsage(figures, { cpus: 8, memoryMb: 4_096, diskMb: 100 }, tasks)).toEqual({
    cpusUsed: 0.5,
    cpusReserved: 3.5,
    cpusTotal: 8,
    memoryBytesUsed: 150,
    memoryMbReserved: 257,
    memoryMbTotal: 4_096,
    diskBytesUsed: 8,
    diskMbReserved: 30,
    diskMbTotal: 100,
    numTasks: 3,
    timestamp: 60_000,
    systemMemTotalBytes: 1_000,
    systemMemFreeBytes: 400,
    systemCpusTotal: 16,
    systemLoad1Min: 1,
    systemLoad5Min: 5,
    systemLoad15Min: 15,
    slaveDiskUsed: 3,
    slaveDiskTotal: 9,
  });
});
