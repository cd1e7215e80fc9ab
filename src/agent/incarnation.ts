import { rm } from 'node:fs/promises';
import type { AgentFolder } from './agent-folder.js';
import type { Cgroups } from './cgroups/cgroups.js';
import { killLeftovers } from './leftovers.js';
import type { Log } from './log.js';

/** The random id of the folder. A folder without one remembers nothing: what ran from here must not run on unseen. */
export async function currentIncarnation(folder: AgentFolder, cgroups: Cgroups, log: Log): Promise<string> {
  const existing = await folder.readIncarnation();
  if (existing) return existing;
  const killed = await killLeftovers(folder, cgroups);
  if (killed > 0) log.warn(`Ended ${killed} processes of tasks that nothing is known about any more`);
  for (const old of [folder.tasks, folder.ended, folder.tombstones]) await rm(old, { recursive: true, force: true });
  await rm(folder.updates, { force: true });
  await folder.makeFolders();
  // Last: should this be interrupted, the next agent begins with it again.
  return folder.createIncarnation();
}
