import { type Dir } from 'node:fs';
import { type FileHandle, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxEntry } from '../../cluster/cluster-driver.js';
import { inParallel } from '../../platform/async.js';
import { staysInside } from '../wire/unsupported.js';
import { leadsInside, openFileBelow, openFolderBelow, pathOf, unlessUnseen } from './below.js';

/** A folder may hold any number of files; so many are listed. */
const longestList = 10_000;
const lookedAtOnce = 50;

/** The files of one task, for reading. A path that leaves the sandbox, by ".." or by a link, finds nothing. */
export class SandboxFiles {
  constructor(readonly root: string) {}

  async exists(): Promise<boolean> {
    const opened = await openFolderBelow(this.root, '');
    await opened?.handle.close();
    return opened !== undefined;
  }

  /** By name. undefined: no such folder. */
  async list(path: string): Promise<SandboxEntry[] | undefined> {
    if (!staysInside(path)) return undefined;
    const opened = await openFolderBelow(this.root, path);
    if (!opened) return undefined;
    try {
      // Through the handle: whatever becomes of the path meanwhile, this is the folder that was checked.
      const folder = pathOf(opened.handle);
      const names = await namesIn(await opendir(folder, { bufferSize: 256 }));
      const entries = await inParallel(names.toSorted(), lookedAtOnce, (name) => this.entry(folder, path, name));
      return entries.filter((entry) => entry !== undefined);
    } finally {
      await opened.handle.close();
    }
  }

  /** An open handle on a plain file, to be closed by the caller. undefined: no such file. */
  async open(path: string): Promise<{ handle: FileHandle; size: number; mtime: number } | undefined> {
    if (!staysInside(path)) return undefined;
    const opened = await openFileBelow(this.root, path);
    return opened && { handle: opened.handle, size: opened.stats.size, mtime: opened.stats.mtimeMs };
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

  /** undefined: removed since it was listed, or a link to nothing or to somewhere else. */
  private entry(folder: string, path: string, name: string): Promise<SandboxEntry | undefined> {
    return unlessUnseen(async () => {
      const stats = await lstat(`${folder}/${name}`);
      if (stats.isSymbolicLink() && !(await leadsInside(this.root, join(path, name)))) return undefined;
      return { name, mtime: Math.floor(stats.mtimeMs / 1000), size: stats.size, mode: modeText(stats.mode) };
    });
  }
}

async function namesIn(folder: Dir): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of folder) if (names.push(name) === longestList) break;
  return names;
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
