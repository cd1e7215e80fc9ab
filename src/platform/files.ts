import { statSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes the entries of a folder survive a power cut: a rename alone may be forgotten. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file that is either absent (or its old self) or complete, and stays so after a power cut: temporary file,
 * fsync, rename, fsync of the folder.
 */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
  await syncFolder(dirname(path));
}

/** Writes without the care for power cuts: the file is absent, its old self or complete, however this process ends. */
export async function writeWhole(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    await writeFile(temporary, text, { flag: 'wx', mode });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
}

/** undefined: no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}

/** None, where there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw cause;
  }
}

export const ensureFolder = (path: string, mode: number) => mkdir(path, { recursive: true, mode });

export const errorCode = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;

/** ENOTDIR: something on the way to it is a file. */
export const isMissing = (cause: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCode(cause) ?? '');

/** No room: on the disk, or within a quota. */
export const isOutOfSpace = (cause: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errorCode(cause) ?? '');

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The first folder on the way to this one (itself included) that a user may not pass. */
export function barredDirectory(path: string, uid: number, gid: number): string | undefined {
  // At once: it is asked before each task starts, of folders that the kernel has in mind.
  const { mode, uid: owner, gid: group } = statSync(path);
  const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return path;
  return path === '/' ? undefined : barredDirectory(dirname(path), uid, gid);
}

export const bytesOfMb = (megabytes: number): number => Math.floor(megabytes * 1024 * 1024);

/** Messages are cut, but never in the middle of a character. */
export const cut = (message: string, length: number): string =>
  message.slice(0, length).replace(/[\ud800-\udbff]$/, '');
