import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { errorCode } from '../../platform/files.js';
import { bytesOfPath, nameOfBytes } from './names.js';

/**
 * Opens what lies below a directory that a task can write to, while the task may change every name in it. A path is walked
 * name by name, each looked at through the handle of the directory before it, and links are resolved here: the kernel would
 * follow one out of the directory, or through /proc into another task's view of the machine. Nothing is opened before its
 * kind is known: a named pipe would hold a thread of this process, and a device may act on being opened.
 */
const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A handle that only says where something is: opening it touches nothing. Node does not name it. */
export const O_PATH = 0o10000000;

/** Each level is a handle while it is walked. */
const deepest = 128;
const mostLinks = 40;

/** Errors that mean: there is no such thing, or none that may be seen. EAGAIN: its owner wants to be asked before others read. */
const unseen = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EAGAIN', 'ENXIO', 'ENAMETOOLONG', 'EINVAL']);

/** INSIDE: links are followed as long as they stay below the directory. NONE: a link on the way is as good as nothing. */
type Links = 'INSIDE' | 'NONE';

interface OpenedFile {
  handle: FileHandle;
  stats: Stats;
}

/**
 * For reading, to be closed by the caller. undefined: no such file, or none that the owner of the directory owns. `owners`: ANY
 * where only a container has written, which cannot link what is outside of its mount.
 */
export async function openFileBelow(
  root: string,
  path: string,
  links: Links = 'INSIDE',
  owners: 'OF_FOLDER' | 'ANY' = 'OF_FOLDER',
): Promise<OpenedFile | undefined> {
  return unlessUnseen(() =>
    walk(root, path, links, async (place, rootStats) => {
      const stats = await place.stat();
      // A hard link shows what its maker could not read: what another user owns was not made here.
      const owner = ownerOf(rootStats);
      const isForeign = owners !== 'ANY' && stats.uid !== owner && owner !== process.getuid?.();
      if (!stats.isFile() || isForeign) return undefined;
      return { handle: await open(pathOf(place), O_RDONLY | O_NONBLOCK), stats };
    }),
  );
}

/** The user whose sandbox it is. That of an ended task belongs to root, with the number of its user in place of a group. */
export const ownerOf = ({ uid, gid }: Pick<Stats, 'uid' | 'gid'>): number => (uid === 0 ? gid : uid);

/** For listing, and as the way to what is in it (`pathOf`), to be closed by the caller. */
export async function openDirectoryBelow(
  root: string,
  path: string,
  links: Links = 'INSIDE',
): Promise<OpenedFile | undefined> {
  return unlessUnseen(() =>
    walk(root, path, links, async (place) => {
      const stats = await place.stat();
      return stats.isDirectory() ? { handle: await open(pathOf(place), O_RDONLY | O_DIRECTORY), stats } : undefined;
    }),
  );
}

/** True if there is anything of this name. A link counts as itself. */
export async function existsBelow(root: string, path: string): Promise<boolean> {
  const found = await unlessUnseen(() =>
    walk(root, dirname(path), 'INSIDE', (directory) => lstat(placeIn(directory, basename(path)))),
  );
  return found !== undefined;
}

/** Does the path lead to something below the directory? */
export async function leadsInside(root: string, path: string): Promise<boolean> {
  return (await unlessUnseen(() => walk(root, path, 'INSIDE', () => Promise.resolve(true)))) ?? false;
}

/**
 * A new file for appending, owned by the user whose sandbox it is, to be closed by the caller. Throws EEXIST when the name is
 * taken, by whatever, and ENOENT when there is no such directory to put it in.
 */
export async function createFileBelow(root: string, path: string, mode: number): Promise<FileHandle> {
  const created = await walk(root, dirname(path), 'NONE', async (directory, owner) => {
    const flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW;
    const handle = await open(placeIn(directory, basename(path)), flags, mode);
    const uid = ownerOf(owner);
    if (uid !== process.geteuid?.()) await handle.chown(uid, owner.gid);
    return handle;
  });
  if (created) return created;
  throw Object.assign(new Error(`${path}: no such folder in the sandbox`), { code: 'ENOENT' });
}

/** Makes the directories of a path that are not there, owned by the user whose sandbox it is. Throws where something else is there. */
export async function makeDirectoryBelow(root: string, path: string, mode: number): Promise<void> {
  const names = namesOf(path);
  for (const [depth, name] of names.entries()) {
    const parent = names.slice(0, depth).join('/');
    const isThere = await walk(root, parent, 'NONE', async (directory, owner) => {
      const place = placeIn(directory, name);
      await mkdir(place, { mode }).catch((cause: unknown) => {
        if (errorCode(cause) !== 'EEXIST') throw cause;
      });
      const made = await open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      try {
        const uid = ownerOf(owner);
        const { uid: owned } = await made.stat();
        if (owned !== uid && owned === process.geteuid?.()) await made.chown(uid, owner.gid);
      } finally {
        await made.close();
      }
      return true;
    });
    if (!isThere) throw Object.assign(new Error(`${path}: no such folder in the sandbox`), { code: 'ENOENT' });
  }
}

/** A file of the owner of the directory that is there, for appending, to be closed by the caller; undefined: there is none. */
export async function openLogBelow(root: string, path: string): Promise<FileHandle | undefined> {
  return unlessUnseen(() =>
    walk(root, path, 'NONE', async (place, rootStats) => {
      const stats = await place.stat();
      if (!stats.isFile() || stats.uid !== ownerOf(rootStats)) return undefined;
      return open(pathOf(place), O_WRONLY | O_APPEND | O_NONBLOCK);
    }),
  );
}

/** A path that leads to what is open, whatever becomes of its names. Also in a child, until it becomes another program. */
export const pathOf = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`;

/** Path of a name in an open directory, whatever bytes the name is made of. */
export const placeIn = (directory: FileHandle, name: string): string | Buffer =>
  bytesOfPath(`${pathOf(directory)}/${name}`);

/** Names in an open directory, in no order (see `names.ts`). */
export async function* namesIn(directory: FileHandle): AsyncGenerator<string, void> {
  for await (const { name } of await opendir(pathOf(directory), { encoding: 'latin1', bufferSize: 64 }))
    yield nameOfBytes(name);
}

const batch = 50;

/** Names in batches: work on several of them at a time waits less. None is empty. */
export async function* batchesOf(directory: FileHandle): AsyncGenerator<string[], void> {
  let names: string[] = [];
  for await (const name of namesIn(directory)) {
    if (names.push(name) < batch) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

/** All names in one list, for a directory that changes while they are processed. */
export async function allNamesIn(directory: FileHandle): Promise<string[]> {
  const names: string[] = [];
  for await (const name of namesIn(directory)) names.push(name);
  return names;
}

export async function unlessUnseen<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (unseen.has(errorCode(cause) ?? '')) return undefined;
    throw cause;
  }
}

/** Answers what `use` makes of the place at the end of the path; undefined: the path leads nowhere below the directory. */
async function walk<T>(
  root: string,
  path: string,
  links: Links,
  use: (place: FileHandle, root: Stats) => Promise<T>,
): Promise<T | undefined> {
  const way = [await open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW)];
  try {
    const rootStats = await way[0]!.stat();
    return (await follow(root, path, links, way)) ? await use(way.at(-1)!, rootStats) : undefined;
  } finally {
    for (const place of way) await place.close();
  }
}

/** Makes `way` the handles from the root to where the path leads. False: it leads out, or too far. */
async function follow(root: string, path: string, links: Links, way: FileHandle[]): Promise<boolean> {
  if (path.startsWith('/') || path.includes('\0')) return false;
  const left = namesOf(path);
  for (let linksSeen = 0; left.length > 0;) {
    const name = left.shift()!;
    if (name === '..') {
      if (way.length === 1) return false;
      await way.pop()!.close();
      continue;
    }
    if (way.length > deepest) return false;
    const path = placeIn(way.at(-1)!, name);
    const place = await open(path, O_PATH | O_NOFOLLOW);
    way.push(place);
    if (!(await place.stat()).isSymbolicLink()) continue;
    await way.pop()!.close();
    if (links === 'NONE' || ++linksSeen > mostLinks) return false;
    const target = nameOfBytes(await readlink(path, { encoding: 'latin1' }));
    if (!target.startsWith('/')) {
      left.unshift(...namesOf(target));
      continue;
    }
    const real = await realpath(root);
    if (target !== real && !target.startsWith(`${real}/`)) return false;
    for (const passed of way.splice(1)) await passed.close();
    left.unshift(...namesOf(target.slice(real.length)));
  }
  return true;
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');
