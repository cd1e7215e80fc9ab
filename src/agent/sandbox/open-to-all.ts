import { constants } from 'node:fs';
import { chmod, type FileHandle, open } from 'node:fs/promises';
import { DeployFault } from '../artifacts/order.js';
import { batchesOf, O_PATH, pathOf, placeIn } from './below.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Each level is a handle while it is open. */
const deepest = 128;

/**
 * Lets every user read and write what is below a directory, and enter the directories in it. Links are not followed. All of it
 * belongs to the user of this process, who alone is at work there.
 */
export async function openToAll(root: string): Promise<void> {
  await openAllIn(await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), 1);
}

async function openAllIn(directory: FileHandle, depth: number): Promise<void> {
  if (depth > deepest) throw new DeployFault(`Folders are nested deeper than ${deepest}`);
  try {
    for await (const names of batchesOf(directory))
      for (const name of names) {
        const place = await open(placeIn(directory, name), O_PATH | O_NOFOLLOW);
        try {
          const stats = await place.stat();
          const { mode, uid } = stats;
          // What the agent has made is as it should be.
          const isOwn = uid === process.geteuid?.();
          if (stats.isFile() && isOwn) await chmod(pathOf(place), (mode & 0o777) | 0o666 | (mode & 0o100 && 0o111));
          if (!stats.isDirectory()) continue;
          if (isOwn) await chmod(pathOf(place), 0o777);
          await openAllIn(await open(pathOf(place), O_RDONLY | O_DIRECTORY), depth + 1);
        } finally {
          await place.close();
        }
      }
  } finally {
    await directory.close();
  }
}
