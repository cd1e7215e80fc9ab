import type { TaskStatistics } from '../cluster/cluster-driver.js';
import { bytesOfMb, type GroupUsage } from './cgroups/group-files.js';
import { ticksPerSecond } from './cgroups/v1.js';
import { diskUsage } from './disk-usage.js';
import type { TaskRun } from './task-run.js';

const bytesPerPage = 4096;

/** Figures of a running task: from its cgroups, and from /proc what they do not tell. */
export async function taskStatistics(run: TaskRun, now: number): Promise<TaskStatistics> {
  const usage: GroupUsage = { ...fromProcesses(run), ...withoutGaps(run.group.usage()) };
  const { spec, sandbox } = run;
  return {
    taskId: spec.taskId,
    cpusLimit: spec.cpus,
    cpusNrPeriods: usage.cpusNrPeriods ?? 0,
    cpusNrThrottled: usage.cpusNrThrottled ?? 0,
    cpusThrottledTimeSecs: usage.cpusThrottledTimeSecs ?? 0,
    cpusUserTimeSecs: usage.cpusUserTimeSecs ?? 0,
    cpusSystemTimeSecs: usage.cpusSystemTimeSecs ?? 0,
    memLimitBytes: bytesOfMb(spec.memoryMb),
    memTotalBytes: usage.memTotalBytes ?? 0,
    memAnonBytes: usage.memAnonBytes ?? 0,
    memRssBytes: usage.memAnonBytes ?? 0,
    memFileBytes: usage.memFileBytes ?? 0,
    memMappedFileBytes: usage.memMappedFileBytes ?? 0,
    diskLimitBytes: bytesOfMb(spec.diskMb),
    diskUsedBytes: await diskUsage(sandbox.root),
    timestamp: now / 1000,
  };
}

/** Time of processes that have ended counts with the parent that waited for them. */
function fromProcesses(run: TaskRun): GroupUsage {
  const processes = run.processes();
  const sum = (pick: (found: (typeof processes)[number]) => number) =>
    processes.reduce((total, found) => total + pick(found), 0);
  const resident = sum((found) => found.residentPages) * bytesPerPage;
  return {
    cpusUserTimeSecs: sum((found) => found.userTicks) / ticksPerSecond,
    cpusSystemTimeSecs: sum((found) => found.systemTicks) / ticksPerSecond,
    memTotalBytes: resident,
    memAnonBytes: resident,
  };
}

const withoutGaps = (usage: GroupUsage): GroupUsage =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
