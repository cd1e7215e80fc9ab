import type { RequestUtilization, SlaveUsage, TaskUsage } from '../model/usage.js';
import { bytesPerMb } from './amounts.js';
import type { ScoringRules } from './score.js';

/** The rules of the default settings. */
export const scoring = (changes: Partial<ScoringRules> = {}): ScoringRules => ({
  weights: { cpus: 0.4, memory: 0.4, disk: 0.2 },
  allocatedWeight: 0.5,
  inUseWeight: 0.5,
  loadMetric: 'LOAD_5',
  omitForMissingUsage: false,
  omitOverloaded: false,
  load1OverloadedThreshold: 1.5,
  load5OverloadedThreshold: 1,
  recheckForManyNewTasks: false,
  recheckLoad1Threshold: 0.8,
  recheckLoad5Threshold: 0.75,
  ...changes,
});

/** A machine of 10 cores, 1000 MB of memory and 1000 MB of disk on which nothing runs. */
export const slaveUsage = (changes: Partial<SlaveUsage> = {}): SlaveUsage => ({
  cpusUsed: 0,
  cpusReserved: 0,
  cpusTotal: 10,
  memoryBytesUsed: 0,
  memoryMbReserved: 0,
  memoryMbTotal: 1_000,
  diskBytesUsed: 0,
  diskMbReserved: 0,
  diskMbTotal: 1_000,
  numTasks: 0,
  timestamp: 0,
  systemMemTotalBytes: 1_000 * bytesPerMb,
  systemMemFreeBytes: 1_000 * bytesPerMb,
  systemCpusTotal: 10,
  systemLoad1Min: 0,
  systemLoad5Min: 0,
  systemLoad15Min: 0,
  slaveDiskUsed: 0,
  slaveDiskTotal: 1_000,
  ...changes,
});

/** Figures of a request from one interval. */
export const utilization = (changes: Partial<RequestUtilization> = {}): RequestUtilization => ({
  requestId: 'web',
  deployId: 'd1',
  memBytesUsed: 0,
  memBytesReserved: 0,
  cpuUsed: 0,
  cpuReserved: 0,
  diskBytesUsed: 0,
  diskBytesReserved: 0,
  numTasks: 1,
  maxMemBytesUsed: 0,
  maxMemTimestamp: 0,
  minMemBytesUsed: 0,
  minMemTimestamp: 0,
  maxCpuUsed: 0,
  maxCpusTimestamp: 0,
  minCpuUsed: 0,
  minCpusTimestamp: 0,
  maxDiskBytesUsed: 0,
  maxDiskTimestamp: 0,
  minDiskBytesUsed: 0,
  minDiskTimestamp: 0,
  cpuBurstRating: 0,
  percentCpuTimeThrottled: 0,
  maxPercentCpuTimeThrottled: 0,
  maxCpuThrottledTimestamp: 0,
  minPercentCpuTimeThrottled: 0,
  minCpuThrottledTimestamp: 0,
  ...changes,
});

/** A sample of a task that uses nothing. */
export const taskUsage = (timestamp: number, changes: Partial<TaskUsage> = {}): TaskUsage => ({
  memoryTotalBytes: 0,
  timestamp,
  cpuSeconds: 0,
  diskTotalBytes: 0,
  cpusNrPeriods: 0,
  cpusNrThrottled: 0,
  cpusThrottledTimeSecs: 0,
  ...changes,
});
