import { statfs } from 'node:fs/promises';
import { cpus, freemem, loadavg, totalmem } from 'node:os';
import type { MachineUsage, TaskStatistics } from '../cluster/cluster-driver.js';
import type { AgentFolder } from './agent-folder.js';
import { inParallel } from './in-parallel.js';
import { taskStatistics } from './statistics.js';
import type { TaskRun } from './task-run.js';

const sandboxesMeasuredAtOnce = 10;

/** Figures of this machine as a whole, and of the running ones among `runs` that belong to the slave. */
export async function machineUsage(
  slaveId: string,
  runs: readonly TaskRun[],
  folder: AgentFolder,
  now: () => number,
): Promise<MachineUsage> {
  const mine = runs.filter((run) => run.spec.slaveId === slaveId && run.isRunning);
  const figures = await inParallel(mine, sandboxesMeasuredAtOnce, (run) => statisticsWhileRunning(run, now()));
  const disk = await statfs(folder.root);
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
    tasks: figures.filter((each) => each !== undefined),
  };
}

/** undefined: it ended while it was looked at, so that its figures may be of what was left of it. */
async function statisticsWhileRunning(run: TaskRun, now: number): Promise<TaskStatistics | undefined> {
  const figures = await taskStatistics(run, now);
  return run.isRunning ? figures : undefined;
}
