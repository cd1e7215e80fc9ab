import type { MachineSnapshot, MachineUsage, TaskStatistics } from '../../../src/cluster/cluster-driver.js';
import type { RunningTask } from './simulated-task.js';

const bytesPerMb = 1024 * 1024;
/** A kernel counts ten periods a second. */
const periodMillis = 100;

/** Use of a task since its launch, by its script. */
export function simulatedStatistics({ spec, script, startedAt }: RunningTask, now: number): TaskStatistics {
  const { cpus = spec.cpus / 2, memoryMb = spec.memoryMb / 2, diskMb = 0, throttled = 0 } = script.uses ?? {};
  const seconds = (now - startedAt) / 1000;
  const periods = Math.floor((now - startedAt) / periodMillis);
  return {
    taskId: spec.taskId,
    cpusLimit: spec.cpus,
    cpusNrPeriods: periods,
    cpusNrThrottled: Math.floor(periods * throttled),
    cpusSystemTimeSecs: 0,
    cpusThrottledTimeSecs: seconds * throttled,
    cpusUserTimeSecs: seconds * cpus,
    memAnonBytes: memoryMb * bytesPerMb,
    memFileBytes: 0,
    memLimitBytes: spec.memoryMb * bytesPerMb,
    memMappedFileBytes: 0,
    memRssBytes: memoryMb * bytesPerMb,
    memTotalBytes: memoryMb * bytesPerMb,
    diskLimitBytes: spec.diskMb * bytesPerMb,
    diskUsedBytes: diskMb * bytesPerMb,
    timestamp: now / 1000,
  };
}

/** A machine on which nothing but its tasks uses anything, and all the time as much as now. */
export function simulatedUsage(machine: MachineSnapshot, running: readonly RunningTask[], now: number): MachineUsage {
  const tasks = running.map((task) => simulatedStatistics(task, now));
  const sum = (pick: (of: TaskStatistics) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  const load = running.reduce((total, { spec, script }) => total + (script.uses?.cpus ?? spec.cpus / 2), 0);
  const memTotalBytes = machine.memoryMb * bytesPerMb;
  return {
    slaveId: machine.slaveId,
    timestamp: now,
    memTotalBytes,
    memFreeBytes: Math.max(0, memTotalBytes - sum((task) => task.memTotalBytes)),
    cpus: machine.cpus,
    load1Min: load,
    load5Min: load,
    load15Min: load,
    diskUsedBytes: sum((task) => task.diskUsedBytes),
    diskTotalBytes: machine.diskMb * bytesPerMb,
    tasks,
  };
}
