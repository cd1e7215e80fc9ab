import type { ClusterUtilization, RequestUtilization, SlaveUsage } from '../model/usage.js';
import { averageOf, bytesPerMb, type Amounts } from './amounts.js';

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

  /** Of equal values the smaller id is named, so that the order of the requests has no meaning. */
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
