import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { batchesOf, placeIn, unlessUnseen } from './below.js';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** An empty file takes a place in the file system, too, and of those there are not more than of others. */
const leastBytes = 1024;
const filesPerStep = 500;
/** Blocks are of 512 bytes whatever those of the file system are. */
export const bytesOnDisk = ({ blocks }: Pick<Stats, 'blocks'>): number => blocks * 512;
/** Each level is a handle while it is measured. */
const deepest = 128;

export interface DiskUse {
  bytes: number;
  files: number;
}

export class TooDeep extends Error {}

/**
 * Disk use of a directory, without following links. Yields the sum so far, each few hundred files: the caller can stop
 * there, or continue later. The last value is the whole.
 */
export async function* diskUse(root: string): AsyncGenerator<DiskUse, void> {
  const use = { bytes: 0, files: 0, reported: 0 };
  const directory = await openDirectory(root);
  if (directory) yield* measure(directory, use, new Set(), 1);
  yield report(use);
}

interface Count extends DiskUse {
  /** Files at the last answer. */
  reported: number;
}

/** `linked`: files of several names, which count once. */
async function* measure(
  directory: FileHandle,
  use: Count,
  linked: Set<number>,
  depth: number,
): AsyncGenerator<DiskUse, void> {
  try {
    for await (const names of batchesOf(directory)) {
      const counted = await Promise.all(names.map((name) => unlessUnseen(() => lstat(placeIn(directory, name)))));
      for (const stats of counted) if (stats) count(stats, use, linked);
      if (use.files - use.reported >= filesPerStep) yield report(use);
      for (const [index, name] of names.entries()) {
        if (!counted[index]?.isDirectory()) continue;
        if (depth === deepest) throw new TooDeep(`Folders are nested deeper than ${deepest}`);
        const inner = await openDirectory(placeIn(directory, name));
        if (inner) yield* measure(inner, use, linked, depth + 1);
      }
    }
  } finally {
    await directory.close();
  }
}

function count(stats: Stats, use: Count, linked: Set<number>): void {
  const isLinked = stats.nlink > 1 && !stats.isDirectory();
  use.files += 1;
  use.bytes += Math.max(leastBytes, isLinked && linked.has(stats.ino) ? 0 : bytesOnDisk(stats));
  if (isLinked) linked.add(stats.ino);
}

function report(use: Count): DiskUse {
  use.reported = use.files;
  return { bytes: use.bytes, files: use.files };
}

/** undefined: gone, or closed to us. */
const openDirectory = (path: string | Buffer): Promise<FileHandle | undefined> =>
  unlessUnseen(() => open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
