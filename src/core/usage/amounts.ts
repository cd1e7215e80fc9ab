import type { RequestUtilization } from '../model/usage.js';

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

/** What a running task of the request probably uses; without figures, what it asked for. */
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
