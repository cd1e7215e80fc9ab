import { setTimeout as delay } from 'node:timers/promises';
import type { AgentFolder } from './agent-folder.js';
import type { Cgroups } from './cgroups/cgroups.js';
import { isLive, readStat, type ProcessStat } from './process-identity.js';
import { processesUnder, signal } from './processes.js';

const pauseMillis = 20;
/** What SIGKILL does not end by then hangs in the kernel and will never be a task again. */
const giveUpAfterMillis = 30_000;

/**
 * Ends every process that an agent on this folder ever started, shims first of all. For a folder that has no memory of
 * them any more: nobody could tell how they end.
 */
export async function killLeftovers(folder: AgentFolder, cgroups: Cgroups): Promise<number> {
  const killed = new Set<string>();
  const deadline = performance.now() + giveUpAfterMillis;
  while (performance.now() < deadline) {
    const found = leftovers(folder, cgroups);
    if (found.length === 0) break;
    for (const process of found) {
      killed.add(`${process.pid} ${process.startTime}`);
      signal(process, 'SIGKILL');
    }
    await delay(pauseMillis);
  }
  // A group that stays is made use of again, or not at all.
  for (const name of cgroups.names())
    await cgroups
      .group(name)
      .remove()
      .catch(() => undefined);
  return killed.size;
}

function leftovers(folder: AgentFolder, cgroups: Cgroups): ProcessStat[] {
  const inGroups = cgroups.names().flatMap((name) => cgroups.group(name).pids() ?? []);
  return [...processesUnder(folder.sandboxes), ...inGroups.map(readStat).filter(isLive)];
}
