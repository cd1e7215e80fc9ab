import type { MachineMetrics, RequestUtilization, SlaveUsage, TaskUsage } from '../model/usage.js';

/** cpus in cores. */
export interface Amounts {
  cpus: number;
  memoryBytes: number;
  diskBytes: number;
}

export const bytesPerMb = 1_048_576;

export const noAmounts: Readonly<Amounts> = { cpus: 0, memoryBytes: 0, diskBytes: 0 };

export const amountsOf = (asked: { cpus: number; memoryMb: number; diskMb: number }): Amounts => ({
  cpus: asked.cpus,
  memoryBytes: asked.memoryMb * bytesPerMb,
  diskBytes: asked.diskMb * bytesPerMb,
});

export const averageOf = ({ numTasks }: RequestUtilization, sum: number): number => (numTasks > 0 ? sum / numTasks : 0);

/** Cores that a task of the request will probably use: nearer to its maximum the more often it bursts. */
export function estimatedCpu(utilization: RequestUtilization): number {
  const average = averageOf(utilization, utilization.cpuUsed);
  return average + (utilization.maxCpuUsed - average) * utilization.cpuBurstRating;
}

/** Probable use of a running task of the request; without metrics, the resources it asked for. */
export const probableUsage = (utilization: RequestUtilization | undefined, asked: Amounts): Amounts =>
  utilization ? { ...largestUsage(utilization, asked), cpus: estimatedCpu(utilization) } : asked;

/** The most that a new task of the request may come to use, as far as is known; without figures, what it asks for. */
export const largestUsage = (utilization: RequestUtilization | undefined, asked: Amounts): Amounts =>
  utilization
    ? {
        cpus: utilization.maxCpuUsed,
        memoryBytes: utilization.maxMemBytesUsed,
        diskBytes: utilization.maxDiskBytesUsed,
      }
    : asked;

/** An active task of a machine: what it asked for, and what it used when the machine was asked. */
export interface SampledTask {
  taskId: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  /** Epoch milliseconds of its TASK_STARTING. */
  startingAt?: number;
  /** The sample before. */
  previous?: Pick<TaskUsage, 'timestamp' | 'cpuSeconds'>;
  /** Absent: the machine has no figures for it, as before its program has begun. */
  sample?: TaskUsage;
}

/**
 * Cores in use since the sample before, or since the start. undefined: that cannot be told. Counters that went back
 * (its processes ended where nothing else counts them) show no use.
 */
export function currentCpus({ startingAt, previous, sample }: SampledTask): number | undefined {
  if (!sample) return undefined;
  const since = previous ?? (startingAt === undefined ? undefined : { timestamp: startingAt, cpuSeconds: 0 });
  if (!since) return undefined;
  const seconds = Math.floor((sample.timestamp - since.timestamp) / 1_000);
  return seconds > 0 ? Math.max(0, sample.cpuSeconds - since.cpuSeconds) / seconds : undefined;
}

/** `offered`: what the machine lets tasks have. Tasks without figures count with what they asked for. */
export function slaveUsage(
  metrics: MachineMetrics,
  offered: { cpus?: number; memoryMb?: number; diskMb?: number },
  tasks: readonly SampledTask[],
): SlaveUsage {
  const sum = (pick: (task: SampledTask) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  return {
    cpusUsed: sum((task) => currentCpus(task) ?? 0),
    cpusReserved: sum((task) => task.cpus),
    cpusTotal: offered.cpus,
    memoryBytesUsed: sum(({ sample }) => sample?.memoryTotalBytes ?? 0),
    memoryMbReserved: sum((task) => task.memoryMb),
    memoryMbTotal: offered.memoryMb,
    diskBytesUsed: sum(({ sample }) => sample?.diskTotalBytes ?? 0),
    diskMbReserved: sum((task) => task.diskMb),
    diskMbTotal: offered.diskMb,
    numTasks: tasks.length,
    timestamp: metrics.timestamp,
    systemMemTotalBytes: metrics.memTotalBytes,
    systemMemFreeBytes: metrics.memFreeBytes,
    systemCpusTotal: metrics.cpus,
    systemLoad1Min: metrics.load1Min,
    systemLoad5Min: metrics.load5Min,
    systemLoad15Min: metrics.load15Min,
    slaveDiskUsed: metrics.diskUsedBytes / bytesPerMb,
    slaveDiskTotal: metrics.diskTotalBytes / bytesPerMb,
  };
}
