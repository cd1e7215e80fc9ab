import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '../../platform/async.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentFolder } from '../agent-folder.js';
import { DiskWatch } from './disk-watch.js';
import type { Machines } from './machines.js';
import { removeTree } from '../sandbox/remove-tree.js';
import type { LocalClusterSettings } from '../settings.js';
import { TaskFolder } from '../tasks/task-folder.js';
import type { Tasks } from '../tasks/tasks.js';
import type { Tombstones } from '../tasks/tombstones.js';

const memoryEveryMillis = 1_000;
const diskEveryMillis = 1_000;
const portsEveryMillis = 3_000;
const sweepEveryMillis = 3600 * 1000;

/** Everything an agent does by itself from time to time. Resolves when the agent stops. */
export async function watchOver(
  context: AgentContext,
  tasks: Tasks,
  machines: Machines,
  tombstones: Tombstones,
): Promise<void> {
  const { checkThreadsEveryMillis } = context.settings;
  const disk = new DiskWatch(context, tasks, machines);
  await Promise.all([
    every(diskEveryMillis, 'look at the disk', context, () => disk.look()),
    every(memoryEveryMillis, 'check memory', context, () => forEachLive(tasks, (run) => run.checkMemory())),
    every(checkThreadsEveryMillis, 'count threads', context, () => forEachLive(tasks, (run) => run.checkThreads())),
    every(portsEveryMillis, 'look at ports', context, () => machines.portsInUse.lookAgain()),
    every(sweepEveryMillis, 'remove old files', context, () =>
      sweep(context.folder, context.settings, tombstones, Date.now()),
    ),
  ]);
}

async function forEachLive(
  tasks: Tasks,
  check: (run: ReturnType<Tasks['live']>[number]) => Promise<void>,
): Promise<void> {
  await Promise.all(tasks.live().map(check));
}

/** The pause begins when the work has ended; work that failed is done again after it. */
async function every(millis: number, what: string, context: AgentContext, work: () => Promise<void>): Promise<void> {
  while (!context.stopping.aborted) {
    await work().catch((cause: unknown) => context.log.error(`Could not ${what}`, cause));
    await delay(millis, undefined, { signal: context.stopping, ref: false }).catch(() => undefined);
  }
}

/** How long an id is remembered after its end was acknowledged, or after its tombstone was put. */
export const rememberMillis = 24 * 3600 * 1000;

/** Removes what has been kept long enough: sandboxes and records of tasks whose end is acknowledged, and tombstones. */
export async function sweep(
  folder: AgentFolder,
  settings: LocalClusterSettings,
  tombstones: Tombstones,
  now: number,
): Promise<void> {
  await oneByOne(await readdir(folder.ended), async (name) => {
    const record = TaskFolder.at(join(folder.ended, name));
    const end = await record.readEnd();
    const age = now - (end?.acknowledgedAt ?? 0);
    if (age < settings.sandboxRetentionMillis) return;
    await removeTree(folder.sandboxOf(name));
    if (age >= rememberMillis) await record.remove();
  });
  await removeOwnerlessSandboxes(folder, settings, now);
  await tombstones.removeOlderThan(now - rememberMillis);
}

/** Left by tasks of an earlier incarnation, of which there is no record any more. */
async function removeOwnerlessSandboxes(
  folder: AgentFolder,
  settings: LocalClusterSettings,
  now: number,
): Promise<void> {
  // In this order: a sandbox that is listed has its task in one of the lists that follow, even if that moves meanwhile.
  const sandboxes: string[] = [];
  for (const place of folder.allSandboxes) sandboxes.push(...(await readdir(place)));
  const owned = new Set([...(await readdir(folder.tasks)), ...(await readdir(folder.ended))]);
  await oneByOne(sandboxes, async (name) => {
    if (owned.has(name)) return;
    const path = folder.sandboxOf(name);
    if (now - (await lstat(path)).mtimeMs >= settings.sandboxRetentionMillis) await removeTree(path);
  });
}

/** One that cannot be removed does not keep the others. */
const oneByOne = (names: readonly string[], work: (name: string) => Promise<void>) => inParallel(names, 1, work);
