import type { Stats } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxEntry } from '../../cluster/cluster-driver.js';
import { inParallel } from '../../platform/async.js';
import { staysInside } from '../../core/files/paths.js';
import { leadsInside, namesIn, openFileBelow, openDirectoryBelow, placeIn, unlessUnseen } from './below.js';
import { nameOfShown, shownName } from './names.js';

/** A directory may hold any number of files; so many are listed. */
const mostEntries = 10_000;
const lookedAtOnce = 50;

/**
 * The files of one task, for reading. A path that leaves the sandbox, by ".." or by a link, finds nothing. Names are told, and
 * paths are meant, as others are shown them (see `names.ts`).
 */
export class SandboxFiles {
  constructor(
    readonly root: string,
    /** Paths of files that count as not there, by whatever other name they have. */
    private readonly hidden: readonly string[] = [],
    private readonly longestList = mostEntries,
    /** True when files of other owners than the task are its own as well (see `TaskDirectory.ownersAreItsOwn`). */
    private readonly isAnyOwners: () => boolean = () => false,
  ) {}

  async exists(): Promise<boolean> {
    const opened = await openDirectoryBelow(this.root, '');
    await opened?.handle.close();
    return opened !== undefined;
  }

  /** By name. undefined: no such directory. */
  async list(shownPath: string): Promise<SandboxEntry[] | undefined> {
    const path = nameOfShown(shownPath);
    if (!staysInside(path)) return undefined;
    const opened = await openDirectoryBelow(this.root, path);
    if (!opened) return undefined;
    try {
      // Through the handle: whatever becomes of the path meanwhile, this is the directory that was checked.
      const names: string[] = [];
      for await (const name of namesIn(opened.handle)) if (names.push(name) === this.longestList) break;
      const entries = await inParallel(names, lookedAtOnce, (name) => this.entry(opened.handle, path, name));
      const hidden = await this.identitiesOfHidden();
      return entries
        .flatMap((entry) => (entry && !hidden.has(entry.identity) ? entry.entry : []))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } finally {
      await opened.handle.close();
    }
  }

  /** An open handle on a plain file, to be closed by the caller. undefined: no such file. */
  async open(shownPath: string): Promise<{ handle: FileHandle; size: number; mtime: number } | undefined> {
    const path = nameOfShown(shownPath);
    if (!staysInside(path)) return undefined;
    const opened = await openFileBelow(this.root, path, 'INSIDE', this.isAnyOwners() ? 'ANY' : 'OF_FOLDER');
    if (!opened) return undefined;
    const { handle, stats } = opened;
    // By what is open, not by its name: a link may lead there.
    if ((await this.identitiesOfHidden()).has(identityOf(stats))) {
      await handle.close();
      return undefined;
    }
    return { handle, size: stats.size, mtime: stats.mtimeMs };
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

  private async identitiesOfHidden(): Promise<Set<string>> {
    const found = await Promise.all(this.hidden.map((path) => openFileBelow(this.root, path, 'NONE')));
    for (const opened of found) await opened?.handle.close();
    return new Set(found.flatMap((opened) => (opened ? identityOf(opened.stats) : [])));
  }

  /** undefined: removed since it was listed, or a link to nothing or to somewhere else. */
  private entry(directory: FileHandle, path: string, name: string): Promise<ListedEntry | undefined> {
    return unlessUnseen(async () => {
      const stats = await lstat(placeIn(directory, name));
      if (stats.isSymbolicLink() && !(await leadsInside(this.root, join(path, name)))) return undefined;
      const { size, mode } = stats;
      const entry = { name: shownName(name), mtime: Math.floor(stats.mtimeMs / 1000), size, mode: modeText(mode) };
      return { entry, identity: identityOf(stats) };
    });
  }
}

interface ListedEntry {
  entry: SandboxEntry;
  identity: string;
}

/** Links of one file have the same. */
const identityOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

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
