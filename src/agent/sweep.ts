import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentFolder } from './agent-folder.js';
import type { LocalClusterSettings } from './settings.js';
import { TaskFolder } from './task-folder.js';
import type { Tombstones } from './tombstones.js';

/** How long an id is remembered after its end was acknowledged, or after its tombstone was put. */
export const rememberMillis = 24 * 3600 * 1000;

/** Removes what has been kept long enough: sandboxes and records of tasks whose end is acknowledged, and tombstones. */
export async function sweep(
  folder: AgentFolder,
  settings: LocalClusterSettings,
  tombstones: Tombstones,
  now: number,
): Promise<void> {
  for (const name of await readdir(folder.ended)) {
    const record = TaskFolder.at(join(folder.ended, name));
    const end = await record.readEnd();
    const age = now - (end?.acknowledgedAt ?? 0);
    if (age < settings.sandboxRetentionMillis) continue;
    await rm(join(folder.sandboxes, name), { recursive: true, force: true });
    if (age >= rememberMillis) await record.remove();
  }
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
  const sandboxes = await readdir(folder.sandboxes);
  const owned = new Set([...(await readdir(folder.tasks)), ...(await readdir(folder.ended))]);
  for (const name of sandboxes) {
    if (owned.has(name)) continue;
    const path = join(folder.sandboxes, name);
    if (now - (await stat(path)).mtimeMs >= settings.sandboxRetentionMillis)
      await rm(path, { recursive: true, force: true });
  }
}
