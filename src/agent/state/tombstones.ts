import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readIfThere, writeDurably } from '../../platform/files.js';

/** Reason why an id must never start. */
const Tombstone = z.object({
  reason: z.enum(['KILLED_BEFORE_LAUNCH', 'PORT_IN_USE', 'DISK_FULL', 'REFUSED']),
  port: z.number().int().optional(),
  message: z.string().optional(),
  /** Id of the launch that was refused; absent: none had come. */
  launchId: z.string().optional(),
  /** Epoch millis. */
  at: z.number(),
});
export type Tombstone = z.infer<typeof Tombstone>;

/** Ids of tasks that must never start here, on disk: a launch that comes late finds its tombstone and is refused. */
export class Tombstones {
  constructor(private readonly directory: string) {}

  async find(name: string): Promise<Tombstone | undefined> {
    const text = await readIfThere(join(this.directory, name));
    return text === undefined ? undefined : Tombstone.parse(JSON.parse(text));
  }

  /** Resolves when it would survive a power cut. */
  put(name: string, tombstone: Tombstone): Promise<void> {
    return writeDurably(join(this.directory, name), JSON.stringify(tombstone));
  }

  async removeOlderThan(before: number): Promise<void> {
    for (const name of await readdir(this.directory)) {
      const tombstone = await this.find(name).catch(() => undefined);
      if (tombstone && tombstone.at < before) await rm(join(this.directory, name), { force: true });
    }
  }
}
