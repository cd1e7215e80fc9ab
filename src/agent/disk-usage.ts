import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './files.js';

const bytesPerBlock = 512;

/** Bytes on disk of everything in a folder. Files that go away meanwhile do not count. */
export async function diskUsage(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await diskUsage(path) : await blocksOf(path);
  }
  return bytes;
}

const entriesOf = (folder: string) => readdir(folder, { withFileTypes: true }).catch(unless(isMissing, []));

const blocksOf = (path: string): Promise<number> =>
  lstat(path).then((stats) => stats.blocks * bytesPerBlock, unless(isMissing, 0));

const unless =
  <T>(expected: (cause: unknown) => boolean, instead: T) =>
  (cause: unknown): T => {
    if (expected(cause)) return instead;
    throw cause;
  };
