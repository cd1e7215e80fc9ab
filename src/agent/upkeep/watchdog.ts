import type { Removals } from './removals.js';
import type { TaskContext } from '../tasks/task-context.js';
import { LogRotation } from './log-rotation.js';
import { removeForgottenContainers } from '../containers/forgotten.js';
import { Cleanup, type CleanableTask } from './cleanup.js';
import { DiskWatch } from './disk-watch.js';
import type { Machines } from '../machines/machines.js';
import type { Tasks } from '../tasks/tasks.js';
import type { Tombstones } from '../state/tombstones.js';
import type { Uploader } from '../uploads/uploader.js';
import { every } from './every.js';

/** Context of the agent's own upkeep. */
export interface UpkeepContext extends TaskContext {
  removals: Removals;
}

const memoryEveryMillis = 1_000;
const diskEveryMillis = 1_000;
const logsEveryMillis = 1_000;
const portsEveryMillis = 3_000;

/** Nothing is removed within 15 minutes of an end, and soon after. */
const sweepEveryMillis = 300 * 1000;
const diskRoomEveryMillis = 10 * 1000;
const containersEveryMillis = 10 * 1000;

/** Everything an agent does by itself from time to time. Resolves when the agent stops. */
export async function watchOver(
  context: UpkeepContext,
  tasks: Tasks,
  machines: Machines,
  tombstones: Tombstones,
  uploader: Uploader | undefined,
): Promise<void> {
  const { checkThreadsEveryMillis } = context.settings;
  const disk = new DiskWatch(context, tasks, machines);
  const known = new Map<string, CleanableTask>();
  const logs = new LogRotation(context, tasks);
  await Promise.all([
    every(diskEveryMillis, 'look at the disk', context, () => disk.check()),
    every(memoryEveryMillis, 'check memory', context, () => forEachLive(tasks, (run) => run.limits.checkMemory())),
    every(checkThreadsEveryMillis, 'count threads', context, () =>
      forEachLive(tasks, async (run) => run.limits.checkThreads()),
    ),
    every(logsEveryMillis, 'rotate logs', context, () => logs.check()),
    every(logsEveryMillis, 'compress logs', context, () => logs.compressEnded()),
    uploader && every(logsEveryMillis, 'upload logs', context, () => uploader.runOnce()),
    every(portsEveryMillis, 'look at ports', context, () => machines.portsInUse.checkAgain()),
    every(sweepEveryMillis, 'remove old files', context, () =>
      new Cleanup(context, known).run(tombstones).then(() => undefined),
    ),
    every(diskRoomEveryMillis, 'make room on the disk', context, () => makeRoom(context, known)),
    every(containersEveryMillis, 'remove what containers leave', context, async () => {
      if (context.engines.takeLeftBehind()) await removeForgottenContainers(context, tasks);
      await context.images.sweep(() => tasks.live().map(({ spec }) => spec), machines.isDiskFull);
    }),
  ]);
}

async function forEachLive(
  tasks: Tasks,
  check: (run: ReturnType<Tasks['live']>[number]) => Promise<void>,
): Promise<void> {
  await Promise.all(tasks.live().map(check));
}

async function makeRoom(context: UpkeepContext, known: Map<string, CleanableTask>): Promise<void> {
  const removed = await new Cleanup(context, known).makeRoom();
  if (removed > 0) context.log.warn(`Disk space is low: removed the files of ${removed} ended tasks`);
}
