import { type Int32, type Int64, record } from '../schema.js';

/** What a slave and its tasks used when it was sampled last. Figures of the machine count whatever runs there. */
export interface SlaveUsageWithId {
  /** Memory that it offers to tasks, in MB. */
  memoryMbTotal?: Int64;
  /** Disk that it offers to tasks, in MB. */
  diskMbTotal?: Int64;
  /** Its active tasks. */
  numTasks: Int32;
  /** When it was sampled, in epoch milliseconds. */
  timestamp: Int64;
  /** memoryMbTotal in bytes. */
  memoryBytesTotal?: Int64;
  /** diskMbTotal in bytes. */
  diskBytesTotal?: Int64;
  /** Cores in use by its tasks. */
  cpusUsed: number;
  /** Cores that its tasks asked for. */
  cpusReserved: number;
  /** Cores that it offers to tasks. */
  cpusTotal?: number;
  /** Memory in use by its tasks, in bytes. */
  memoryBytesUsed: number;
  /** Memory that its tasks asked for, in MB. */
  memoryMbReserved: number;
  /** Disk in use by its tasks, in bytes. */
  diskBytesUsed: number;
  /** Disk that its tasks asked for, in MB. */
  diskMbReserved: number;
  /** Memory of the whole machine, in bytes. */
  systemMemTotalBytes: number;
  /** Memory of the machine that programs could still have, in bytes. */
  systemMemFreeBytes: number;
  /** Cores of the whole machine. */
  systemCpusTotal: number;
  /** Load of the machine: tasks that run or wait for a core, averaged over 1 minute. */
  systemLoad1Min: number;
  /** The same over 5 minutes. */
  systemLoad5Min: number;
  /** The same over 15 minutes. */
  systemLoad15Min: number;
  /** Disk in use on the file system of the sandboxes, in MB. */
  slaveDiskUsed: number;
  /** Size of that file system, in MB. */
  slaveDiskTotal: number;
  /** The slave. */
  slaveId: string;
}
export const SlaveUsageWithId = record<SlaveUsageWithId>('SlaveUsageWithId');

/** What a task used when it was sampled. */
export interface TaskUsage {
  /** Memory in use, in bytes. */
  memoryTotalBytes: Int64;
  /** When this was measured, in epoch milliseconds. */
  timestamp: Int64;
  /** Disk in use, in bytes. */
  diskTotalBytes: Int64;
  /** Periods in which its use of the processor was limited, since it started. */
  cpusNrPeriods: Int64;
  /** Those of them in which it wanted more. */
  cpusNrThrottled: Int64;
  /** Processor time since the task started, in seconds. */
  cpuSeconds: number;
  /** Time for which it was held back since it started, in seconds. */
  cpusThrottledTimeSecs: number;
}
export const TaskUsage = record<TaskUsage>('TaskUsage');

/** What the tasks of a request use, from all their kept samples. */
export interface RequestUtilization {
  /** Memory in use, in bytes, summed over the intervals. */
  memBytesUsed: Int64;
  /** Memory asked for, in bytes, summed over the intervals. */
  memBytesReserved: Int64;
  /** Disk in use, in bytes, summed over the intervals. */
  diskBytesUsed: Int64;
  /** Disk asked for, in bytes, summed over the intervals. */
  diskBytesReserved: Int64;
  /** Intervals between two samples of a task that were summed: a sum divided by it is the average of a task. */
  numTasks: Int32;
  /** Highest memory of a task within 24 hours, in bytes. */
  maxMemBytesUsed: Int64;
  /** When that was, in epoch milliseconds. */
  maxMemTimestamp: Int64;
  /** Lowest memory of a task within 24 hours, in bytes. */
  minMemBytesUsed: Int64;
  /** When that was, in epoch milliseconds. */
  minMemTimestamp: Int64;
  /** When that was, in epoch milliseconds. */
  maxCpusTimestamp: Int64;
  /** When that was, in epoch milliseconds. */
  minCpusTimestamp: Int64;
  /** Highest disk use of a task within 24 hours, in bytes. */
  maxDiskBytesUsed: Int64;
  /** When that was, in epoch milliseconds. */
  maxDiskTimestamp: Int64;
  /** Lowest disk use of a task within 24 hours, in bytes. */
  minDiskBytesUsed: Int64;
  /** When that was, in epoch milliseconds. */
  minDiskTimestamp: Int64;
  /** When that was, in epoch milliseconds. */
  maxCpuThrottledTimestamp: Int64;
  /** When that was, in epoch milliseconds. */
  minCpuThrottledTimestamp: Int64;
  /** The request. */
  requestId: string;
  /** Its deploy. */
  deployId: string;
  /** Cores in use, summed over the intervals. */
  cpuUsed: number;
  /** Cores asked for, summed over the intervals. */
  cpuReserved: number;
  /** Most cores of a task within 24 hours. */
  maxCpuUsed: number;
  /** Fewest cores of a task within 24 hours. */
  minCpuUsed: number;
  /** How often a task used more cores than it asked for, from 0 (never) to nearly 1. */
  cpuBurstRating: number;
  /** Share of its time, 0 to 1, for which a task was held back, summed over the intervals. */
  percentCpuTimeThrottled: number;
  /** Highest such share within 24 hours. */
  maxPercentCpuTimeThrottled: number;
  /** Lowest such share within 24 hours. */
  minPercentCpuTimeThrottled: number;
}
export const RequestUtilization = record<RequestUtilization>('RequestUtilization');

/** How far what requests ask for and what they use lie apart. */
export interface ClusterUtilization {
  /** Requests that use fewer cores than they ask for. */
  numRequestsWithUnderUtilizedCpu: Int32;
  /** Requests that use more cores than they ask for. */
  numRequestsWithOverUtilizedCpu: Int32;
  /** Requests that use less memory than they ask for. */
  numRequestsWithUnderUtilizedMemBytes: Int32;
  /** Requests that use less disk than they ask for. */
  numRequestsWithUnderUtilizedDiskBytes: Int32;
  /** Memory in bytes that a task of a request leaves unused on average: the sum over those requests. */
  totalUnderUtilizedMemBytes: Int64;
  /** Disk in bytes that a task of a request leaves unused on average: the sum over those requests. */
  totalUnderUtilizedDiskBytes: Int64;
  /**
   * Memory in bytes that a task of a request leaves unused on average: the average of those requests; 0 if there are
   * none.
   */
  avgUnderUtilizedMemBytes: Int64;
  /**
   * Disk in bytes that a task of a request leaves unused on average: the average of those requests; 0 if there are
   * none.
   */
  avgUnderUtilizedDiskBytes: Int64;
  /**
   * Memory in bytes that a task of a request leaves unused on average: the highest of those requests; 0 if there are
   * none.
   */
  maxUnderUtilizedMemBytes: Int64;
  /**
   * Disk in bytes that a task of a request leaves unused on average: the highest of those requests; 0 if there are
   * none.
   */
  maxUnderUtilizedDiskBytes: Int64;
  /**
   * Memory in bytes that a task of a request leaves unused on average: the lowest of those requests; 0 if there are
   * none.
   */
  minUnderUtilizedMemBytes: Int64;
  /**
   * Disk in bytes that a task of a request leaves unused on average: the lowest of those requests; 0 if there are
   * none.
   */
  minUnderUtilizedDiskBytes: Int64;
  /** Memory in use by tasks, in bytes. */
  totalMemBytesUsed: Int64;
  /** Memory that slaves offer to tasks, in bytes. */
  totalMemBytesAvailable: Int64;
  /** Disk in use by tasks, in bytes. */
  totalDiskBytesUsed: Int64;
  /** Disk that slaves offer to tasks, in bytes. */
  totalDiskBytesAvailable: Int64;
  /** When this was computed, in epoch milliseconds. */
  timestamp: Int64;
  /** Cores that a task of a request leaves unused on average: the sum over those requests. */
  totalUnderUtilizedCpu: number;
  /** Cores that a task of a request uses beyond what it asks for on average: the sum over those requests. */
  totalOverUtilizedCpu: number;
  /** Cores that a task of a request leaves unused on average: the average of those requests; 0 if there are none. */
  avgUnderUtilizedCpu: number;
  /**
   * Cores that a task of a request uses beyond what it asks for on average: the average of those requests; 0 if there
   * are none.
   */
  avgOverUtilizedCpu: number;
  /** Cores that a task of a request leaves unused on average: the highest of those requests; 0 if there are none. */
  maxUnderUtilizedCpu: number;
  /**
   * Cores that a task of a request uses beyond what it asks for on average: the highest of those requests; 0 if there
   * are none.
   */
  maxOverUtilizedCpu: number;
  /** The request with maxUnderUtilizedCpu. */
  maxUnderUtilizedCpuRequestId?: string;
  /** The request with maxOverUtilizedCpu. */
  maxOverUtilizedCpuRequestId?: string;
  /** The request with maxUnderUtilizedMemBytes. */
  maxUnderUtilizedMemBytesRequestId?: string;
  /** The request with maxUnderUtilizedDiskBytes. */
  maxUnderUtilizedDiskBytesRequestId?: string;
  /** Cores that a task of a request leaves unused on average: the lowest of those requests; 0 if there are none. */
  minUnderUtilizedCpu: number;
  /**
   * Cores that a task of a request uses beyond what it asks for on average: the lowest of those requests; 0 if there
   * are none.
   */
  minOverUtilizedCpu: number;
  /** Cores in use by tasks. */
  totalCpuUsed: number;
  /** Cores that slaves offer to tasks. */
  totalCpuAvailable: number;
}
export const ClusterUtilization = record<ClusterUtilization>('ClusterUtilization');
