import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { globMatcher } from '../logs/schedule.js';
import type { UploadRecord } from '../logs/upload-record.js';
import { namesIn, openFileBelow, openDirectoryBelow, ownerOf, placeIn, unlessUnseen } from '../sandbox/below.js';

/** A file of a task that is to be uploaded, as it was when it was seen. */
export interface FoundFile {
  /** Below the sandbox. */
  path: string;
  name: string;
  ino: number;
  size: number;
  mtimeMs: number;
}

/** Limit for one record at a time: the rest is found by the next pass. */
export const mostFiles = 1_000;
const mostNames = 100_000;
const deepest = 32;

/**
 * Files that a record names, without links, empty files and whatever is no plain file of the task's user. `skip`: paths
 * that are done. Sorted, so that the same files have the same positions.
 */
export async function filesOf(record: UploadRecord, skip: (file: FoundFile) => boolean): Promise<FoundFile[]> {
  const { sandbox, fileGlob, onFinishGlob, finished } = record;
  const globs = [fileGlob, ...(finished && onFinishGlob !== undefined ? [onFinishGlob] : [])];
  const matchers = globs.map(globMatcher);
  const isHiddenWanted = globs.some((glob) => glob.startsWith('.'));
  const found: FoundFile[] = [];
  const directories = [{ path: relative(sandbox, record.directory), depth: 0 }];
  let seen = 0;
  for (let directory = directories.shift(); directory && found.length < mostFiles; directory = directories.shift()) {
    const opened = await openDirectoryBelow(sandbox, directory.path, 'NONE');
    if (!opened) continue;
    try {
      for await (const name of namesIn(opened.handle)) {
        if (++seen > mostNames || found.length === mostFiles) break;
        const isNamed = (isHiddenWanted || !name.startsWith('.')) && matchers.some((matches) => matches(name));
        if (!isNamed && !record.checkSubdirectories) continue;
        const stats = await unlessUnseen(() => lstat(placeIn(opened.handle, name)));
        const path = join(directory.path, name);
        if (stats?.isDirectory() && record.checkSubdirectories && directory.depth < deepest)
          directories.push({ path, depth: directory.depth + 1 });
        if (!isNamed || !stats?.isFile() || stats.size === 0) continue;
        const file = { path, name, ino: stats.ino, size: stats.size, mtimeMs: stats.mtimeMs };
        if (!skip(file)) found.push(file);
      }
    } finally {
      await opened.handle.close();
    }
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Files that a process of the owner of the sandbox has open. `seenAs`: path of the sandbox as those processes have it. */
export async function openFiles(
  { sandbox, seenAs = sandbox }: Pick<UploadRecord, 'sandbox' | 'seenAs'>,
  files: readonly FoundFile[],
): Promise<Set<FoundFile>> {
  const byIno = new Map(files.map((file) => [file.ino, file]));
  const open = new Set<FoundFile>();
  const root = await unlessUnseen(() => lstat(sandbox));
  if (!root || files.length === 0) return open;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const owner = await stat(`/proc/${pid}`).catch(() => undefined);
    if (owner?.uid !== ownerOf(root)) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const path = `/proc/${pid}/fd/${fd}`;
      // Names first: nothing but files of this sandbox is looked at.
      if (!(await readlink(path).catch(() => '')).startsWith(`${seenAs}/`)) continue;
      const stats = await stat(path).catch(() => undefined);
      const file = stats && byIno.get(stats.ino);
      if (file) open.add(file);
    }
  }
  return open;
}

/** For reading, to be closed by the caller; undefined: it is not the file any more that was found. */
export async function openFound(sandbox: string, file: FoundFile) {
  const opened = await openFileBelow(sandbox, file.path, 'NONE');
  if (opened && isSame(opened.stats, file)) return opened.handle;
  await opened?.handle.close();
  return undefined;
}

export const isSame = (
  a: Pick<FoundFile, 'ino' | 'size' | 'mtimeMs'>,
  b: Pick<FoundFile, 'ino' | 'size' | 'mtimeMs'>,
) => a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;
