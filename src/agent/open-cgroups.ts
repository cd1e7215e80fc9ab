import { z } from 'zod';
import type { AgentFolder } from './agent-folder.js';
import { Cgroups } from './cgroups/cgroups.js';
import { keepPlaces, readMounts } from './cgroups/mounts.js';
import { readIfThere, writeDurably } from './files.js';

const Places = z.object({ bootId: z.string(), parents: z.array(z.string()) });

/** The cgroups that work here, in the places where they were during this boot. */
export async function openCgroups(folder: AgentFolder, bootId: string, use: 'auto' | 'off'): Promise<Cgroups> {
  const name = `muster-${folder.key}`;
  if (use === 'off') return Cgroups.probe(name, []);
  const text = await readIfThere(folder.cgroups);
  const before = text === undefined ? undefined : Places.safeParse(JSON.parse(text)).data;
  const parents = before?.bootId === bootId ? before.parents : [];
  const cgroups = Cgroups.probe(name, keepPlaces(readMounts(), parents));
  await writeDurably(folder.cgroups, JSON.stringify({ bootId, parents: cgroups.parents }));
  return cgroups;
}
