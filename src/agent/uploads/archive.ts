import { randomUUID } from 'node:crypto';
import {
  chmod,
  chown,
  constants,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  rm,
  rmdir,
  statfs,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { namesOfBucket, namesOfKey } from '../../core/logs/index.js';
import { ensureFolder, errorCode, isMissing, syncFolder } from '../../platform/files.js';
import { reservedBytes } from '../sandbox/disk-space.js';
import type { Throttle } from './throttle.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const chunkBytes = 256 * 1024;

/** Least room of an object: files and their names take room, too. */
const leastBytes = 4_096;
const dayMillis = 86_400_000;

/** Number of the oldest objects known at a time when room is made. */
const oldestKnown = 10_000;

/** So much is freed that it does not begin again with the next object. */
const freedShare = 0.05;

interface Bounds {
  maxBytes: number;
  keepMillis: number;
  reservedDiskMb?: number;
}

interface ArchivePlace {
  root: string;
  /** Name of this agent, where others write to the directory as well. */
  agent?: string;
  /** Group that may read it; absent: as it is. */
  group?: number;
}

interface ArchivedFile {
  path: string;
  mtimeMs: number;
  bytes: number;
}

export class ArchiveFull extends Error {}

/** No name of a bucket or of a part of a key begins like that. */
const unfinishedName = '.new';
/** Who may not enter the directory itself gets to nothing in it. */
const directoryMode = 0o750;

/**
 * Logs of tasks in a directory, by bucket and key. Nothing but the agent writes there, or agents that share it; schedulers read. An
 * object is there whole or not at all, and never changes. Others may remove objects at any time, as this one does.
 */
export class Archive {
  bytes = 0;
  objects = 0;
  removed = 0;

  private constructor(
    private readonly root: string,
    /** Directory of files that are not whole yet, this agent's alone. */
    private readonly unfinished: string,
    readonly bounds: Bounds,
    private readonly throttle: Throttle,
  ) {}

  static async open({ root, agent = '', group }: ArchivePlace, bounds: Bounds, throttle: Throttle): Promise<Archive> {
    const archive = new Archive(root, join(root, unfinishedName, agent), bounds, throttle);
    await ensureFolder(root, 0o700);
    if (group !== undefined) {
      await chown(root, -1, group);
      // All that is made below has the group of what it is made in.
      await chmod(root, 0o2750);
    }
    await rm(archive.unfinished, { recursive: true, force: true });
    await ensureFolder(archive.unfinished, directoryMode);
    return archive;
  }

  async has(bucket: string, key: string): Promise<boolean> {
    return lstat(this.pathOf(bucket, key)).then(
      () => true,
      () => false,
    );
  }

  /**
   * Stores a file, unless the content is there already from an attempt that came to its end. Throws EEXIST when the key
   * is another one's.
   */
  async put(source: FileHandle, size: number, place: { bucket: string; key: string }): Promise<void> {
    const path = this.pathOf(place.bucket, place.key);
    if (await this.has(place.bucket, place.key)) {
      if (await this.isThere(source, size, path)) return;
      throw Object.assign(new Error('another object has the key'), { code: 'EEXIST' });
    }
    await this.makeRoomFor(size);
    const part = join(this.unfinished, randomUUID());
    try {
      await this.copy(source, size, part);
      const made = await mkdir(dirname(path), { recursive: true, mode: directoryMode });
      await link(part, path);
      for (let directory = dirname(path); ; directory = dirname(directory)) {
        await syncFolder(directory);
        if (made === undefined || directory.length < made.length) break;
      }
      this.count(size, 1);
    } finally {
      await rm(part, { force: true });
    }
  }

  /** Removes what is too old, then the oldest of what is too much, and counts anew. */
  async sweep(now: number, signal: AbortSignal): Promise<void> {
    const tooOld = now - this.bounds.keepMillis;
    let [bytes, objects] = [0, 0];
    for await (const stored of this.all(signal)) {
      if (stored.mtimeMs < tooOld) {
        await this.remove(stored);
        continue;
      }
      bytes += stored.bytes;
      objects += 1;
    }
    if (signal.aborted) return;
    [this.bytes, this.objects] = [bytes, objects];
    if (this.bytes > this.bounds.maxBytes) await this.removeOldest(this.bytes - this.bounds.maxBytes, signal);
  }

  private pathOf(bucket: string, key: string): string {
    return join(this.root, ...namesOfBucket(bucket), ...namesOfKey(key));
  }

  private count(size: number, sign: 1 | -1): void {
    this.bytes += sign * Math.max(size, leastBytes);
    this.objects += sign;
  }

  private async copy(source: FileHandle, size: number, path: string): Promise<void> {
    const target = await open(path, 'wx', 0o640);
    try {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size));
      for (let position = 0; position < size;) {
        await this.throttle.take(Math.min(buffer.length, size - position));
        const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - position), position);
        if (bytesRead === 0) throw new Error('it became shorter while it was stored');
        await target.writeFile(buffer.subarray(0, bytesRead));
        position += bytesRead;
      }
      await target.sync();
    } finally {
      await target.close();
    }
  }

  private async isThere(source: FileHandle, size: number, path: string): Promise<boolean> {
    const stored = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if ((await stored.stat()).size !== size) return false;
      const [mine, theirs] = [Buffer.allocUnsafe(chunkBytes), Buffer.allocUnsafe(chunkBytes)];
      for (let position = 0; position < size; position += chunkBytes) {
        await this.throttle.take(Math.min(chunkBytes, size - position));
        const { bytesRead } = await source.read(mine, 0, chunkBytes, position);
        const other = await stored.read(theirs, 0, chunkBytes, position);
        if (!mine.subarray(0, bytesRead).equals(theirs.subarray(0, other.bytesRead))) return false;
      }
      return true;
    } finally {
      await stored.close();
    }
  }

  private async makeRoomFor(size: number): Promise<void> {
    const { maxBytes } = this.bounds;
    const over = this.bytes + Math.max(size, leastBytes) - maxBytes;
    if (over > 0) await this.removeOldest(over);
    const disk = await statfs(this.root);
    const missing = reservedBytes(this.bounds, disk) + size - disk.bavail * disk.bsize;
    // Nothing goes for what would not fit all the same: it is not these logs that fill the disk.
    if (missing > 0 && (this.bytes < missing || (await this.removeOldest(missing)) < missing))
      throw new ArchiveFull('too little of the disk is free');
  }

  /** Answers how much was freed. */
  private async removeOldest(bytes: number, signal?: AbortSignal): Promise<number> {
    const wanted = bytes + this.bounds.maxBytes * freedShare;
    let freed = 0;
    while (freed < wanted) {
      let oldest: ArchivedFile[] = [];
      for await (const stored of this.all(signal)) {
        oldest.push(stored);
        if (oldest.length >= 2 * oldestKnown) oldest = theOldest(oldest);
      }
      if (oldest.length === 0 || signal?.aborted) break;
      for (const stored of theOldest(oldest)) {
        if (freed >= wanted) break;
        await this.remove(stored);
        this.count(stored.bytes, -1);
        freed += stored.bytes;
      }
    }
    return freed;
  }

  private async remove({ path }: ArchivedFile): Promise<void> {
    await unlink(path).catch(unlessMissing);
    this.removed += 1;
    // Directories that are empty now go, too.
    for (let directory = dirname(path); directory.length > this.root.length; directory = dirname(directory))
      if (!(await removeIfEmpty(directory))) return;
  }

  private async *all(signal?: AbortSignal): AsyncGenerator<ArchivedFile> {
    const directories = [this.root];
    for (
      let directory = directories.pop();
      directory !== undefined && !signal?.aborted;
      directory = directories.pop()
    ) {
      const entries = await opendir(directory, { bufferSize: 256 }).catch(unlessMissing);
      if (!entries) continue;
      for await (const entry of entries) {
        const path = join(directory, entry.name);
        if (entry.isDirectory()) {
          if (entry.name !== unfinishedName) directories.push(path);
          continue;
        }
        const stats = await lstat(path).catch(unlessMissing);
        if (stats) yield { path, mtimeMs: stats.mtimeMs, bytes: Math.max(stats.size, leastBytes) };
      }
    }
  }
}

export const boundsOf = (
  { keepDays, maxMegabytes }: { keepDays: number; maxMegabytes: number },
  { reservedDiskMb }: { reservedDiskMb?: number },
): Bounds => ({ maxBytes: maxMegabytes * 1024 * 1024, keepMillis: keepDays * dayMillis, reservedDiskMb });

const theOldest = (stored: readonly ArchivedFile[]): ArchivedFile[] =>
  stored.toSorted((a, b) => a.mtimeMs - b.mtimeMs).slice(0, oldestKnown);

async function removeIfEmpty(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch (cause) {
    if (isMissing(cause)) return true;
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(cause) ?? '')) return false;
    throw cause;
  }
}

function unlessMissing(cause: unknown): undefined {
  if (!isMissing(cause)) throw cause;
}
