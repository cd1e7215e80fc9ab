import { statfs } from 'node:fs/promises';
import { cpus, freemem, loadavg, totalmem } from 'node:os';
import type { MachineUsage, TaskStatistics } from '../../cluster/cluster-driver.js';
import { inParallel } from '../../platform/async.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { type GroupUsage } from '../cgroups/group-files.js';
import { bytesOfMb } from '../../platform/files.js';
import { diskUse, TooDeep } from '../sandbox/disk-use.js';
import { type ProcessStat, ticksPerSecond } from '../processes/process-identity.js';

const bytesPerPage = 4096;

/** A task whose figures are told. */
interface MeasuredTask {
  spec: Pick<LaunchSpec, 'taskId' | 'slaveId' | 'cpus' | 'memoryMb' | 'diskMb'>;
  sandbox: { root: string };
  group: { usage(): GroupUsage };
  isRunning: boolean;
  processes(): ProcessStat[];
}

/** Figures of a running task: from its cgroups, and from /proc what they do not tell. */
export async function taskStatistics(run: MeasuredTask, now: number): Promise<TaskStatistics> {
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
function fromProcesses(run: MeasuredTask): GroupUsage {
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

/** The measuring of very many files is left to the watch over the disk. */
const mostFilesMeasured = 50_000;

async function diskUsage(directory: string): Promise<number> {
  let found = 0;
  try {
    for await (const { bytes, files } of diskUse(directory)) {
      found = bytes;
      if (files > mostFilesMeasured) break;
    }
  } catch (cause) {
    if (!(cause instanceof TooDeep)) throw cause;
  }
  return found;
}

const sandboxesMeasuredAtOnce = 10;

/** Figures of this machine as a whole, and of the running ones among `runs` that belong to the slave. */
export async function machineUsage(
  slaveId: string,
  runs: readonly MeasuredTask[],
  directory: { root: string },
  now: () => number,
): Promise<MachineUsage> {
  const mine = runs.filter((run) => run.spec.slaveId === slaveId && run.isRunning);
  const metrics = await inParallel(mine, sandboxesMeasuredAtOnce, (run) => statisticsWhileRunning(run, now()));
  const disk = await statfs(directory.root);
  const [load1Min = 0, load5Min = 0, load15Min = 0] = loadavg();
  return {
    slaveId,
    timestamp: now(),
    memTotalBytes: totalmem(),
    memFreeBytes: freemem(),
    // All of them, for the load is that of the whole machine too.
    cpus: cpus().length,
    load1Min,
    load5Min,
    load15Min,
    diskUsedBytes: (disk.blocks - disk.bfree) * disk.bsize,
    diskTotalBytes: disk.blocks * disk.bsize,
    tasks: metrics.filter((each) => each !== undefined),
  };
}

/** undefined: it ended while it was looked at, so that its figures may be of what was left of it. */
async function statisticsWhileRunning(run: MeasuredTask, now: number): Promise<TaskStatistics | undefined> {
  const metrics = await taskStatistics(run, now);
  return run.isRunning ? metrics : undefined;
}
