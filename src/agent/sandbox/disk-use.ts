import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { pathOf, unlessUnseen } from './below.js';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const bytesPerBlock = 512;
/** An empty file takes a place in the file system, too, and of those there are not more than of others. */
const leastBytes = 1024;
const filesPerLook = 500;
/** Each level is a handle while it is measured. */
const deepest = 128;

export interface DiskUse {
  bytes: number;
  files: number;
}

export class TooDeep extends Error {}

/**
 * What a folder takes on the disk, without following a link. Answers what was found so far, each few hundred files: whoever
 * asks can stop there, or go on later. The last answer is the whole.
 */
export async function* diskUse(root: string): AsyncGenerator<DiskUse, void> {
  const use: DiskUse = { bytes: 0, files: 0 };
  const folder = await openFolder(root);
  if (folder) yield* measure(folder, use, new Set(), 1);
  yield { ...use };
}

/** `linked`: files of several names, which count once. */
async function* measure(
  folder: FileHandle,
  use: DiskUse,
  linked: Set<number>,
  depth: number,
): AsyncGenerator<DiskUse, void> {
  try {
    for await (const { name } of await opendir(pathOf(folder), { bufferSize: 64 })) {
      const path = `${pathOf(folder)}/${name}`;
      const stats = await unlessUnseen(() => lstat(path));
      if (!stats) continue;
      use.files += 1;
      const isCounted = stats.nlink > 1 && !stats.isDirectory() && linked.has(stats.ino);
      use.bytes += isCounted ? leastBytes : Math.max(leastBytes, stats.blocks * bytesPerBlock);
      if (stats.nlink > 1 && !stats.isDirectory()) linked.add(stats.ino);
      if (use.files % filesPerLook === 0) yield { ...use };
      if (!stats.isDirectory()) continue;
      if (depth === deepest) throw new TooDeep(`Folders are nested deeper than ${deepest}`);
      const inner = await openFolder(path);
      if (inner) yield* measure(inner, use, linked, depth + 1);
    }
  } finally {
    await folder.close();
  }
}

/** undefined: gone, or closed to us. */
const openFolder = (path: string): Promise<FileHandle | undefined> =>
  unlessUnseen(() => open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
