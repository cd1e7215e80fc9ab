import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { ClusterUtilization, RequestUtilization, SlaveUsage, TaskUsage } from '../../../core/model/usage.js';

const int32 = { type: 'integer', format: 'int32' } as const;
const int64 = { type: 'integer', format: 'int64' } as const;

/** Use of a slave by itself and its tasks in the newest sample. Figures of the machine count whatever runs there. */
@ApiSchema({ name: 'SlaveUsageWithIdDto' })
export class SlaveUsageDto implements SlaveUsage {
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
  /** Memory that it offers to tasks, in MB. */
  @ApiProperty(int64)
  memoryMbTotal?: number;
  /** Disk in use by its tasks, in bytes. */
  diskBytesUsed: number;
  /** Disk that its tasks asked for, in MB. */
  diskMbReserved: number;
  /** Disk that it offers to tasks, in MB. */
  @ApiProperty(int64)
  diskMbTotal?: number;
  /** Its active tasks. */
  @ApiProperty(int32)
  numTasks: number;
  /** Time of the sample, in epoch milliseconds. */
  @ApiProperty(int64)
  timestamp: number;
  /** Memory of the whole machine, in bytes. */
  systemMemTotalBytes: number;
  /** Memory of the machine that programs could still have, in bytes. */
  systemMemFreeBytes: number;
  /** Cores of the whole machine. */
  systemCpusTotal: number;
  /** Load of the machine: tasks that run or wait for a core, averaged over 1 minute. */
  systemLoad1Min: number;
  /** System load over 5 minutes. */
  systemLoad5Min: number;
  /** System load over 15 minutes. */
  systemLoad15Min: number;
  /** Disk in use on the file system of the sandboxes, in MB. */
  slaveDiskUsed: number;
  /** Size of that file system, in MB. */
  slaveDiskTotal: number;
  /** The slave. */
  slaveId: string;
  /** memoryMbTotal in bytes. */
  @ApiProperty(int64)
  memoryBytesTotal?: number;
  /** diskMbTotal in bytes. */
  @ApiProperty(int64)
  diskBytesTotal?: number;
}

/** Use of a task in one sample. */
export class TaskUsageDto implements TaskUsage {
  /** Memory in use, in bytes. */
  @ApiProperty(int64)
  memoryTotalBytes: number;
  /** Time of the measurement, in epoch milliseconds. */
  @ApiProperty(int64)
  timestamp: number;
  /** Processor time since the task started, in seconds. */
  cpuSeconds: number;
  /** Disk in use, in bytes. */
  @ApiProperty(int64)
  diskTotalBytes: number;
  /** Periods in which its use of the processor was limited, since it started. */
  @ApiProperty(int64)
  cpusNrPeriods: number;
  /** Number of those periods in which it wanted more. */
  @ApiProperty(int64)
  cpusNrThrottled: number;
  /** Time for which it was held back since it started, in seconds. */
  cpusThrottledTimeSecs: number;
}

/** Use of all tasks of a request, from all their kept samples. */
export class RequestUtilizationDto implements RequestUtilization {
  /** The request. */
  requestId: string;
  /** Its deploy. */
  deployId: string;
  /** Memory in use, in bytes, summed over the intervals. */
  @ApiProperty(int64)
  memBytesUsed: number;
  /** Memory asked for, in bytes, summed over the intervals. */
  @ApiProperty(int64)
  memBytesReserved: number;
  /** Cores in use, summed over the intervals. */
  cpuUsed: number;
  /** Cores asked for, summed over the intervals. */
  cpuReserved: number;
  /** Disk in use, in bytes, summed over the intervals. */
  @ApiProperty(int64)
  diskBytesUsed: number;
  /** Disk asked for, in bytes, summed over the intervals. */
  @ApiProperty(int64)
  diskBytesReserved: number;
  /** Intervals between two samples of a task that were summed: a sum divided by it is the average of a task. */
  @ApiProperty(int32)
  numTasks: number;
  /** Highest memory of a task within 24 hours, in bytes. */
  @ApiProperty(int64)
  maxMemBytesUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  maxMemTimestamp: number;
  /** Lowest memory of a task within 24 hours, in bytes. */
  @ApiProperty(int64)
  minMemBytesUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  minMemTimestamp: number;
  /** Most cores of a task within 24 hours. */
  maxCpuUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  maxCpusTimestamp: number;
  /** Fewest cores of a task within 24 hours. */
  minCpuUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  minCpusTimestamp: number;
  /** Highest disk use of a task within 24 hours, in bytes. */
  @ApiProperty(int64)
  maxDiskBytesUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  maxDiskTimestamp: number;
  /** Lowest disk use of a task within 24 hours, in bytes. */
  @ApiProperty(int64)
  minDiskBytesUsed: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  minDiskTimestamp: number;
  /** Share of samples, from 0 (never) to nearly 1, in which a task used more cores than it asked for. */
  cpuBurstRating: number;
  /** Share of its time, 0 to 1, for which a task was held back, summed over the intervals. */
  percentCpuTimeThrottled: number;
  /** Highest such share within 24 hours. */
  maxPercentCpuTimeThrottled: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  maxCpuThrottledTimestamp: number;
  /** Lowest such share within 24 hours. */
  minPercentCpuTimeThrottled: number;
  /** Time of that sample, in epoch milliseconds. */
  @ApiProperty(int64)
  minCpuThrottledTimestamp: number;
}

/** The difference between what requests ask for and what they use. */
export class ClusterUtilizationDto implements ClusterUtilization {
  /** Requests that use fewer cores than they ask for. */
  @ApiProperty(int32)
  numRequestsWithUnderUtilizedCpu: number;
  /** Requests that use more cores than they ask for. */
  @ApiProperty(int32)
  numRequestsWithOverUtilizedCpu: number;
  /** Requests that use less memory than they ask for. */
  @ApiProperty(int32)
  numRequestsWithUnderUtilizedMemBytes: number;
  /** Requests that use less disk than they ask for. */
  @ApiProperty(int32)
  numRequestsWithUnderUtilizedDiskBytes: number;
  /** Cores that a task of a request leaves unused on average: the sum over those requests. */
  totalUnderUtilizedCpu: number;
  /** Cores that a task of a request uses beyond what it asks for on average: the sum over those requests. */
  totalOverUtilizedCpu: number;
  /** Memory in bytes that a task of a request leaves unused on average: the sum over those requests. */
  @ApiProperty(int64)
  totalUnderUtilizedMemBytes: number;
  /** Disk in bytes that a task of a request leaves unused on average: the sum over those requests. */
  @ApiProperty(int64)
  totalUnderUtilizedDiskBytes: number;
  /** Cores that a task of a request leaves unused on average: the average of those requests; 0 if there are none. */
  avgUnderUtilizedCpu: number;
  /** Cores that a task of a request uses beyond what it asks for on average: the average of those requests; 0 if there are none. */
  avgOverUtilizedCpu: number;
  /** Memory in bytes that a task of a request leaves unused on average: the average of those requests; 0 if there are none. */
  @ApiProperty(int64)
  avgUnderUtilizedMemBytes: number;
  /** Disk in bytes that a task of a request leaves unused on average: the average of those requests; 0 if there are none. */
  @ApiProperty(int64)
  avgUnderUtilizedDiskBytes: number;
  /** Cores that a task of a request leaves unused on average: the highest of those requests; 0 if there are none. */
  maxUnderUtilizedCpu: number;
  /** Cores that a task of a request uses beyond what it asks for on average: the highest of those requests; 0 if there are none. */
  maxOverUtilizedCpu: number;
  /** Memory in bytes that a task of a request leaves unused on average: the highest of those requests; 0 if there are none. */
  @ApiProperty(int64)
  maxUnderUtilizedMemBytes: number;
  /** Disk in bytes that a task of a request leaves unused on average: the highest of those requests; 0 if there are none. */
  @ApiProperty(int64)
  maxUnderUtilizedDiskBytes: number;
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
  /** Cores that a task of a request uses beyond what it asks for on average: the lowest of those requests; 0 if there are none. */
  minOverUtilizedCpu: number;
  /** Memory in bytes that a task of a request leaves unused on average: the lowest of those requests; 0 if there are none. */
  @ApiProperty(int64)
  minUnderUtilizedMemBytes: number;
  /** Disk in bytes that a task of a request leaves unused on average: the lowest of those requests; 0 if there are none. */
  @ApiProperty(int64)
  minUnderUtilizedDiskBytes: number;
  /** Memory in use by tasks, in bytes. */
  @ApiProperty(int64)
  totalMemBytesUsed: number;
  /** Memory that slaves offer to tasks, in bytes. */
  @ApiProperty(int64)
  totalMemBytesAvailable: number;
  /** Disk in use by tasks, in bytes. */
  @ApiProperty(int64)
  totalDiskBytesUsed: number;
  /** Disk that slaves offer to tasks, in bytes. */
  @ApiProperty(int64)
  totalDiskBytesAvailable: number;
  /** Cores in use by tasks. */
  totalCpuUsed: number;
  /** Cores that slaves offer to tasks. */
  totalCpuAvailable: number;
  /** Time of the computation, in epoch milliseconds. */
  @ApiProperty(int64)
  timestamp: number;
}
