import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxEntry } from '../../cluster/cluster-driver.js';
import { errorCode, isMissing } from '../files.js';
import { staysInside } from '../wire/unsupported.js';

/** Errors that mean: there is no such file, or none that may be seen. */
const unseen = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENXIO', 'ENAMETOOLONG', 'EINVAL'];

/** The files of one task, for reading. A path that leaves the sandbox, by ".." or by a link, finds nothing. */
export class SandboxFiles {
  constructor(readonly root: string) {}

  /** By name. undefined: no such folder. */
  async list(path: string): Promise<SandboxEntry[] | undefined> {
    const opened = await this.openInside(path, constants.O_DIRECTORY);
    if (!opened) return undefined;
    try {
      // Through the handle: whatever becomes of the path meanwhile, this is the folder that was checked.
      const folder = `/proc/self/fd/${opened.handle.fd}`;
      const names = (await readdir(folder)).toSorted();
      const entries = await Promise.all(names.map((name) => this.entry(folder, name)));
      return entries.filter((entry) => entry !== undefined);
    } finally {
      await opened.handle.close();
    }
  }

  /** An open handle on a plain file, to be closed by the caller. undefined: no such file. */
  async open(path: string): Promise<{ handle: FileHandle; size: number; mtime: number } | undefined> {
    const opened = await this.openInside(path, 0);
    if (!opened) return undefined;
    const { handle, stats } = opened;
    if (stats.isFile()) return { handle, size: stats.size, mtime: stats.mtimeMs };
    await handle.close();
    return undefined;
  }

  async read(path: string, offset: number, length: number) {
    const file = await this.open(path);
    if (!file) return undefined;
    try {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, file.size - offset)));
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, offset);
      return { data: buffer.subarray(0, bytesRead), size: file.size, mtime: file.mtime };
    } finally {
      await file.handle.close();
    }
  }

  private async entry(folder: string, name: string): Promise<SandboxEntry | undefined> {
    try {
      const stats = await lstat(join(folder, name));
      if (stats.isSymbolicLink() && !(await this.contains(await realpath(join(folder, name))))) return undefined;
      return { name, mtime: Math.floor(stats.mtimeMs / 1000), size: stats.size, mode: modeText(stats.mode) };
    } catch (cause) {
      // Removed since it was listed, or a link to nothing.
      if (unseen.includes(errorCode(cause) ?? '')) return undefined;
      throw cause;
    }
  }

  private async openInside(path: string, flags: number): Promise<{ handle: FileHandle; stats: Stats } | undefined> {
    if (!staysInside(path)) return undefined;
    let handle: FileHandle;
    try {
      // Without O_NONBLOCK a named pipe would keep us waiting for its writer.
      handle = await open(join(this.root, path), constants.O_RDONLY | constants.O_NONBLOCK | flags);
    } catch (cause) {
      if (unseen.includes(errorCode(cause) ?? '')) return undefined;
      throw cause;
    }
    try {
      // Asked of what is open, not of the path: a link may be changed between a check and its use.
      if (await this.contains(await readlink(`/proc/self/fd/${handle.fd}`)))
        return { handle, stats: await handle.stat() };
    } catch (cause) {
      await handle.close();
      throw cause;
    }
    await handle.close();
    return undefined;
  }

  private async contains(path: string): Promise<boolean> {
    try {
      const root = await realpath(this.root);
      return path === root || path.startsWith(`${root}/`);
    } catch (cause) {
      if (isMissing(cause)) return false;
      throw cause;
    }
  }
}

const kinds: Record<number, string> = {
  0o140000: 's',
  0o120000: 'l',
  0o060000: 'b',
  0o040000: 'd',
  0o020000: 'c',
  0o010000: 'p',
};

/** A file's mode as the ten characters of a directory listing, such as "drwxr-xr-x". */
export function modeText(mode: number): string {
  const triple = (shift: number, special: boolean, letter: string) => {
    const bits = mode >> shift;
    const last = special ? (bits & 1 ? letter : letter.toUpperCase()) : bits & 1 ? 'x' : '-';
    return `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${last}`;
  };
  return [
    kinds[mode & 0o170000] ?? '-',
    triple(6, (mode & 0o4000) !== 0, 's'),
    triple(3, (mode & 0o2000) !== 0, 's'),
    triple(0, (mode & 0o1000) !== 0, 't'),
  ].join('');
}
