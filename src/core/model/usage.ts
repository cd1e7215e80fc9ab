/** One sample of what a running task uses. Counters grow from the task's start. */
export interface TaskUsage {
  memoryTotalBytes: number;
  /** Epoch milliseconds at which the machine took the sample. */
  timestamp: number;
  /** User and system time together, in seconds. */
  cpuSeconds: number;
  diskTotalBytes: number;
  cpusNrPeriods: number;
  cpusNrThrottled: number;
  cpusThrottledTimeSecs: number;
}

/**
 * Use of a machine, from its newest sample. "Used" and "reserved" count our tasks, "system" figures everything that
 * runs there. Totals without "system" are what the machine offers to tasks; they may be less than it has.
 */
export interface SlaveUsage {
  /** Cores. */
  cpusUsed: number;
  cpusReserved: number;
  cpusTotal?: number;
  memoryBytesUsed: number;
  memoryMbReserved: number;
  memoryMbTotal?: number;
  diskBytesUsed: number;
  diskMbReserved: number;
  diskMbTotal?: number;
  numTasks: number;
  /** Epoch milliseconds. */
  timestamp: number;
  systemMemTotalBytes: number;
  systemMemFreeBytes: number;
  systemCpusTotal: number;
  systemLoad1Min: number;
  systemLoad5Min: number;
  systemLoad15Min: number;
  /** MB of the file system that holds the sandboxes. */
  slaveDiskUsed: number;
  slaveDiskTotal: number;
}

/**
 * Use of the tasks of a request, from all their stored samples. Each interval between two samples counts once: divided
 * by numTasks, the sums are averages per task. cpu in cores; times are epoch milliseconds.
 */
export interface RequestUtilization {
  requestId: string;
  deployId: string;
  memBytesUsed: number;
  memBytesReserved: number;
  cpuUsed: number;
  cpuReserved: number;
  diskBytesUsed: number;
  diskBytesReserved: number;
  /** Intervals that were summed. */
  numTasks: number;
  maxMemBytesUsed: number;
  maxMemTimestamp: number;
  minMemBytesUsed: number;
  minMemTimestamp: number;
  maxCpuUsed: number;
  maxCpusTimestamp: number;
  minCpuUsed: number;
  minCpusTimestamp: number;
  maxDiskBytesUsed: number;
  maxDiskTimestamp: number;
  minDiskBytesUsed: number;
  minDiskTimestamp: number;
  /** 0 to 1: how often a task used more cores than it asked for. */
  cpuBurstRating: number;
  /** Share of its time that a task was held back, 0 to 1, summed over the intervals. */
  percentCpuTimeThrottled: number;
  maxPercentCpuTimeThrottled: number;
  maxCpuThrottledTimestamp: number;
  minPercentCpuTimeThrottled: number;
  minCpuThrottledTimestamp: number;
}

/** Difference between the resources that requests ask for and those they use, over all requests. cpu in cores. */
export interface ClusterUtilization {
  numRequestsWithUnderUtilizedCpu: number;
  numRequestsWithOverUtilizedCpu: number;
  numRequestsWithUnderUtilizedMemBytes: number;
  numRequestsWithUnderUtilizedDiskBytes: number;
  totalUnderUtilizedCpu: number;
  totalOverUtilizedCpu: number;
  totalUnderUtilizedMemBytes: number;
  totalUnderUtilizedDiskBytes: number;
  avgUnderUtilizedCpu: number;
  avgOverUtilizedCpu: number;
  avgUnderUtilizedMemBytes: number;
  avgUnderUtilizedDiskBytes: number;
  maxUnderUtilizedCpu: number;
  maxOverUtilizedCpu: number;
  maxUnderUtilizedMemBytes: number;
  maxUnderUtilizedDiskBytes: number;
  maxUnderUtilizedCpuRequestId?: string;
  maxOverUtilizedCpuRequestId?: string;
  maxUnderUtilizedMemBytesRequestId?: string;
  maxUnderUtilizedDiskBytesRequestId?: string;
  minUnderUtilizedCpu: number;
  minOverUtilizedCpu: number;
  minUnderUtilizedMemBytes: number;
  minUnderUtilizedDiskBytes: number;
  totalMemBytesUsed: number;
  totalMemBytesAvailable: number;
  totalDiskBytesUsed: number;
  totalDiskBytesAvailable: number;
  totalCpuUsed: number;
  totalCpuAvailable: number;
  /** Epoch milliseconds. */
  timestamp: number;
}

/** Resources that a machine has and uses, by whatever program, as its agent reports them. */
export interface MachineMetrics {
  /** Epoch milliseconds. */
  timestamp: number;
  memTotalBytes: number;
  /** Memory that programs could still have without anything being swapped out. */
  memFreeBytes: number;
  cpus: number;
  /** Averages of 1, 5 and 15 minutes. */
  load1Min: number;
  load5Min: number;
  load15Min: number;
  /** Bytes in use on the file system that holds the sandboxes. */
  diskUsedBytes: number;
  diskTotalBytes: number;
}
