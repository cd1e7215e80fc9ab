import type { ClusterUtilization, RequestUtilization, SlaveUsage, TaskUsage } from '../model/usage.js';
import { type Amounts, averageOf, bytesPerMb } from './amounts.js';

/** The highest and lowest values stay in view for so long. */
const dayMillis = 24 * 3_600 * 1_000;

type Sample = Pick<
  TaskUsage,
  'timestamp' | 'cpuSeconds' | 'memoryTotalBytes' | 'diskTotalBytes' | 'cpusThrottledTimeSecs'
>;

/** A task with its kept samples, oldest first. */
export interface MeasuredTask {
  /** Epoch milliseconds. */
  startedAt: number;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  samples: readonly Sample[];
}

/** Use of a task between two samples. */
interface Interval {
  /** Its end. */
  at: number;
  cpus: number;
  memoryBytes: number;
  diskBytes: number;
  throttled: number;
}

interface Extreme {
  value: number;
  at: number;
}

/**
 * Figures of a request from all samples of its tasks. `former`, the figures of the same deploy from before, keeps the
 * highest and lowest values of the last 24 hours in view. undefined: nothing was measured and nothing is known.
 */
export function requestUtilization(
  { requestId, deployId }: { requestId: string; deployId: string },
  tasks: readonly MeasuredTask[],
  former: RequestUtilization | undefined,
  now: number,
): RequestUtilization | undefined {
  const measured = tasks.map((task) => ({ task, intervals: intervalsOf(task) }));
  const all = measured.flatMap(({ intervals }) => intervals);
  if (all.length === 0) return former;
  const sum = (pick: (interval: Interval) => number) => all.reduce((total, interval) => total + pick(interval), 0);
  const reserved = (pick: (task: MeasuredTask) => number) =>
    measured.reduce((total, { task, intervals }) => total + pick(task) * intervals.length, 0);
  const bursts = measured.reduce(
    (total, { task, intervals }) => total + intervals.filter(({ cpus }) => cpus > task.cpus).length,
    0,
  );
  const known = former?.deployId === deployId ? former : undefined;
  const highest = (pick: (interval: Interval) => number, before: Extreme | undefined) =>
    extreme(all, pick, before, now, (a, b) => a > b);
  const lowest = (pick: (interval: Interval) => number, before: Extreme | undefined) =>
    extreme(all, pick, before, now, (a, b) => a < b);

  const maxMemory = highest(memoryBytes, known && { value: known.maxMemBytesUsed, at: known.maxMemTimestamp });
  const minMemory = lowest(memoryBytes, known && { value: known.minMemBytesUsed, at: known.minMemTimestamp });
  const maxCpus = highest(cpus, known && { value: known.maxCpuUsed, at: known.maxCpusTimestamp });
  const minCpus = lowest(cpus, known && { value: known.minCpuUsed, at: known.minCpusTimestamp });
  const maxDisk = highest(diskBytes, known && { value: known.maxDiskBytesUsed, at: known.maxDiskTimestamp });
  const minDisk = lowest(diskBytes, known && { value: known.minDiskBytesUsed, at: known.minDiskTimestamp });
  const maxThrottled = highest(
    throttled,
    known && { value: known.maxPercentCpuTimeThrottled, at: known.maxCpuThrottledTimestamp },
  );
  const minThrottled = lowest(
    throttled,
    known && { value: known.minPercentCpuTimeThrottled, at: known.minCpuThrottledTimestamp },
  );
  return {
    requestId,
    deployId,
    memBytesUsed: sum(memoryBytes),
    memBytesReserved: Math.round(reserved((task) => task.memoryMb * bytesPerMb)),
    cpuUsed: sum(cpus),
    cpuReserved: reserved((task) => task.cpus),
    diskBytesUsed: sum(diskBytes),
    diskBytesReserved: Math.round(reserved((task) => task.diskMb * bytesPerMb)),
    numTasks: all.length,
    maxMemBytesUsed: maxMemory.value,
    maxMemTimestamp: maxMemory.at,
    minMemBytesUsed: minMemory.value,
    minMemTimestamp: minMemory.at,
    maxCpuUsed: maxCpus.value,
    maxCpusTimestamp: maxCpus.at,
    minCpuUsed: minCpus.value,
    minCpusTimestamp: minCpus.at,
    maxDiskBytesUsed: maxDisk.value,
    maxDiskTimestamp: maxDisk.at,
    minDiskBytesUsed: minDisk.value,
    minDiskTimestamp: minDisk.at,
    cpuBurstRating: bursts / (all.length + 1),
    percentCpuTimeThrottled: sum(throttled),
    maxPercentCpuTimeThrottled: maxThrottled.value,
    maxCpuThrottledTimestamp: maxThrottled.at,
    minPercentCpuTimeThrottled: minThrottled.value,
    minCpuThrottledTimestamp: minThrottled.at,
  };
}

const cpus = (interval: Interval) => interval.cpus;
const memoryBytes = (interval: Interval) => interval.memoryBytes;
const diskBytes = (interval: Interval) => interval.diskBytes;
const throttled = (interval: Interval) => interval.throttled;

/** The first one begins with the task, which had used nothing then. Counters that went back show no use. */
function intervalsOf({ startedAt, samples }: MeasuredTask): Interval[] {
  let before = { timestamp: startedAt, cpuSeconds: 0, cpusThrottledTimeSecs: 0 };
  const intervals: Interval[] = [];
  for (const sample of samples) {
    const seconds = (sample.timestamp - before.timestamp) / 1_000;
    if (seconds <= 0) continue;
    intervals.push({
      at: sample.timestamp,
      cpus: Math.max(0, sample.cpuSeconds - before.cpuSeconds) / seconds,
      memoryBytes: sample.memoryTotalBytes,
      diskBytes: sample.diskTotalBytes,
      throttled: Math.max(0, sample.cpusThrottledTimeSecs - before.cpusThrottledTimeSecs) / seconds,
    });
    before = sample;
  }
  return intervals;
}

/** The first of equal values counts, so that the order of the tasks has no meaning. */
function extreme(
  intervals: readonly Interval[],
  pick: (interval: Interval) => number,
  before: Extreme | undefined,
  now: number,
  beats: (a: number, b: number) => boolean,
): Extreme {
  let best = before && now - before.at < dayMillis ? before : undefined;
  for (const interval of intervals) {
    const value = pick(interval);
    if (!best || beats(value, best.value) || (value === best.value && interval.at < best.at))
      best = { value, at: interval.at };
  }
  return best!;
}

/** A request with figures, and what its deploy asks for. */
export interface UtilizedRequest {
  utilization: RequestUtilization;
  asked: Amounts;
}

/** Compares what all requests ask for with what they use on average. Exactly as much counts nowhere. */
export function clusterUtilization(
  requests: readonly UtilizedRequest[],
  slaves: Iterable<SlaveUsage>,
  now: number,
): ClusterUtilization {
  const [underCpu, overCpu, underMemory, underDisk] = [new Tally(), new Tally(), new Tally(), new Tally()];
  for (const { utilization, asked } of requests) {
    const { requestId } = utilization;
    const unusedCpus = asked.cpus - averageOf(utilization, utilization.cpuUsed);
    if (unusedCpus > 0) underCpu.add(requestId, unusedCpus);
    else if (unusedCpus < 0) overCpu.add(requestId, -unusedCpus);
    const unusedMemory = asked.memoryBytes - averageOf(utilization, utilization.memBytesUsed);
    if (unusedMemory > 0) underMemory.add(requestId, Math.round(unusedMemory));
    const unusedDisk = asked.diskBytes - averageOf(utilization, utilization.diskBytesUsed);
    if (unusedDisk > 0) underDisk.add(requestId, Math.round(unusedDisk));
  }
  return {
    numRequestsWithUnderUtilizedCpu: underCpu.count,
    numRequestsWithOverUtilizedCpu: overCpu.count,
    numRequestsWithUnderUtilizedMemBytes: underMemory.count,
    numRequestsWithUnderUtilizedDiskBytes: underDisk.count,
    totalUnderUtilizedCpu: underCpu.total,
    totalOverUtilizedCpu: overCpu.total,
    totalUnderUtilizedMemBytes: underMemory.total,
    totalUnderUtilizedDiskBytes: underDisk.total,
    avgUnderUtilizedCpu: underCpu.average,
    avgOverUtilizedCpu: overCpu.average,
    avgUnderUtilizedMemBytes: Math.round(underMemory.average),
    avgUnderUtilizedDiskBytes: Math.round(underDisk.average),
    maxUnderUtilizedCpu: underCpu.max,
    maxOverUtilizedCpu: overCpu.max,
    maxUnderUtilizedMemBytes: underMemory.max,
    maxUnderUtilizedDiskBytes: underDisk.max,
    maxUnderUtilizedCpuRequestId: underCpu.maxRequestId,
    maxOverUtilizedCpuRequestId: overCpu.maxRequestId,
    maxUnderUtilizedMemBytesRequestId: underMemory.maxRequestId,
    maxUnderUtilizedDiskBytesRequestId: underDisk.maxRequestId,
    minUnderUtilizedCpu: underCpu.min,
    minOverUtilizedCpu: overCpu.min,
    minUnderUtilizedMemBytes: underMemory.min,
    minUnderUtilizedDiskBytes: underDisk.min,
    ...clusterTotals(slaves),
    timestamp: now,
  };
}

type Totals = Pick<
  ClusterUtilization,
  | 'totalMemBytesUsed'
  | 'totalMemBytesAvailable'
  | 'totalDiskBytesUsed'
  | 'totalDiskBytesAvailable'
  | 'totalCpuUsed'
  | 'totalCpuAvailable'
>;

/** Slaves whose totals are not known would make the cluster look fuller than it is. */
function clusterTotals(slaves: Iterable<SlaveUsage>): Totals {
  const totals: Totals = {
    totalMemBytesUsed: 0,
    totalMemBytesAvailable: 0,
    totalDiskBytesUsed: 0,
    totalDiskBytesAvailable: 0,
    totalCpuUsed: 0,
    totalCpuAvailable: 0,
  };
  for (const usage of slaves) {
    const { cpusTotal, memoryMbTotal, diskMbTotal } = usage;
    if (cpusTotal === undefined || memoryMbTotal === undefined || diskMbTotal === undefined) continue;
    totals.totalMemBytesUsed += usage.memoryBytesUsed;
    totals.totalMemBytesAvailable += memoryMbTotal * bytesPerMb;
    totals.totalDiskBytesUsed += usage.diskBytesUsed;
    totals.totalDiskBytesAvailable += diskMbTotal * bytesPerMb;
    totals.totalCpuUsed += usage.cpusUsed;
    totals.totalCpuAvailable += cpusTotal;
  }
  return totals;
}

class Tally {
  count = 0;
  total = 0;
  max = 0;
  maxRequestId: string | undefined;
  min = 0;

  /** The smaller id of equal values is named, so that the order of the requests has no meaning. */
  add(requestId: string, value: number): void {
    const namesSmallerId = value === this.max && this.maxRequestId !== undefined && requestId < this.maxRequestId;
    if (value > this.max || namesSmallerId) this.maxRequestId = requestId;
    this.max = Math.max(this.max, value);
    this.min = this.count === 0 ? value : Math.min(this.min, value);
    this.total += value;
    this.count += 1;
  }

  get average(): number {
    return this.count === 0 ? 0 : this.total / this.count;
  }
}
