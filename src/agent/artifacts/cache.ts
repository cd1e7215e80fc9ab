import { createHash, randomUUID } from 'node:crypto';
import { constants, rmSync } from 'node:fs';
import { chown, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentContext } from '../agent-context.js';
import type { ArtifactSettings } from '../../platform/settings/artifact-settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import type { TaskUsers } from '../users/task-users.js';
import { bytesOfMb, isMissing, messageOf, syncFolder } from '../../platform/files.js';
import { processesUnder, signal as sendSignal } from '../processes/processes.js';
import { removeTree } from '../sandbox/remove-tree.js';
import { unlessAborted } from '../../platform/async.js';
import type { FetchLimits, CacheOrder } from './order.js';
import { md5Of } from './place.js';
import { carryOut } from './program.js';

/** A file that a task wants, before it may be put into its sandbox. */
export interface CacheRequest extends Pick<CacheOrder, 'name' | 'source' | 'filesize' | 'md5sum'> {
  /** Without an md5 nothing says that two sources hold the same, so only tasks of one owner share. Absent: no task does. */
  owner?: string;
}

/** Open for reading, until `release`. Nothing writes to it any more: it is the agent's. */
export interface CachedFile {
  handle: FileHandle;
  path: string;
  release(): Promise<void>;
}

interface CacheEntry {
  id: string;
  /** No other task may have it. */
  isPrivate: boolean;
  path: string;
  md5: string;
  bytes: number;
  usedAt: number;
  users: number;
  /** State of the file when its content was last known to be whole. */
  seen?: string;
  isReady: boolean;
  ready: Promise<void>;
  /** Aborted when no task waits for it any more. */
  stop: AbortController;
}

/** Small ones take a place in the file system, too. */
const leastBytes = 4_096;
const cachedName = /^([0-9a-f]{64})-([0-9a-f]{32})$/;

interface Parts extends Pick<AgentContext, 'log' | 'fetchProgram' | 'searchPath'> {
  directory: Pick<AgentDirectory, 'artifacts' | 'cachedArtifacts' | 'newArtifacts'>;
  settings: Pick<ArtifactSettings, 'artifactCacheMegabytes'>;
  users: TaskUsers;
}

/**
 * Files that were fetched once for several tasks. A program fetches one, as a user that no task has, into a directory of its own;
 * what is whole and checked becomes the agent's, can be read and not written, and gets its name at once. Tasks get it as an
 * open file. A name is made of where the file comes from and what it has to be, so that no task gets, by an md5 alone, what another
 * source holds, nor what a source gave to another task, without saying what it has to be.
 */
export class ArtifactCache {
  private readonly entries = new Map<string, CacheEntry>();

  private constructor(private readonly parts: Parts) {}

  /** Only whole files have names in it, whenever an earlier agent has ended; what was under way is removed. */
  static async open(parts: Parts): Promise<ArtifactCache> {
    const cache = new ArtifactCache(parts);
    const { artifacts, cachedArtifacts, newArtifacts } = parts.directory;
    for (const left of processesUnder(artifacts)) sendSignal(left, 'SIGKILL');
    for (const name of await readdir(newArtifacts)) await cache.remove(join(newArtifacts, name));
    for (const name of await readdir(cachedArtifacts)) await cache.restore(name);
    cache.trim();
    return cache;
  }

  /** From the cache, or fetched: once, however many ask at the same time. Throws DeployFault when it cannot be had. */
  async take(request: CacheRequest, limits: FetchLimits, signal: AbortSignal): Promise<CachedFile> {
    const isPrivate = !request.md5sum && request.owner === undefined;
    const id = isPrivate ? randomUUID() : idOf(request);
    for (;;) {
      const entry = this.entries.get(id) ?? this.begin({ id, isPrivate }, request, limits);
      entry.users++;
      try {
        await unlessAborted(entry.ready, signal);
        const handle = await this.openWhole(entry);
        if (handle) return { handle, path: entry.path, release: () => this.release(entry, handle) };
      } catch (cause) {
        await this.release(entry);
        throw cause;
      }
      // It has been changed since: it is fetched anew.
      entry.users--;
      this.discard(entry);
    }
  }

  private begin(which: Pick<CacheEntry, 'id' | 'isPrivate'>, request: CacheRequest, limits: FetchLimits): CacheEntry {
    const entry: CacheEntry = {
      ...which,
      path: '',
      md5: '',
      bytes: 0,
      users: 0,
      usedAt: Date.now(),
      isReady: false,
      ready: Promise.resolve(),
      stop: new AbortController(),
    };
    entry.ready = this.fetch(entry, request, limits);
    // Each task that waits is told, and the next one that asks has it fetched again.
    entry.ready.catch(() => this.forget(entry));
    this.entries.set(entry.id, entry);
    return entry;
  }

  private async fetch(entry: CacheEntry, request: CacheRequest, limits: FetchLimits): Promise<void> {
    const { directory, users, fetchProgram: program, searchPath } = this.parts;
    const work = join(directory.newArtifacts, randomUUID());
    const runAs = await users.resolve(undefined, work);
    if (typeof runAs === 'string') throw new Error(runAs);
    try {
      await mkdir(work, { mode: 0o700 });
      if (runAs) await chown(work, runAs.uid, runAs.gid);
      const user = runAs && { uid: runAs.uid, gid: runAs.gid };
      const { signal } = entry.stop;
      const order: CacheOrder = { ...request, kind: 'KEEP', root: work, user, limits };
      const { md5 = '' } = await carryOut(order, { program, searchPath, runAs, signal });
      if (runAs?.own) await users.killAll(runAs);
      await this.keep(entry, join(work, 'content'), md5);
    } finally {
      await this.remove(work);
      if (runAs) users.release(runAs);
    }
  }

  /** The program that wrote it has ended. On the disk before it has its name: half a file never has one. */
  private async keep(entry: CacheEntry, content: string, md5: string): Promise<void> {
    const { cachedArtifacts, newArtifacts } = this.parts.directory;
    const handle = await open(content, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile() || stats.nlink !== 1) throw new Error('What was fetched is no file');
      if (process.getuid?.() === 0) await handle.chown(0, 0);
      await handle.chmod(0o444);
      await handle.sync();
      entry.bytes = Math.max(leastBytes, stats.size);
      entry.seen = await stampOf(handle);
    } finally {
      await handle.close();
    }
    entry.md5 = md5;
    entry.path = entry.isPrivate ? join(newArtifacts, `${entry.id}.once`) : join(cachedArtifacts, `${entry.id}-${md5}`);
    await rename(content, entry.path);
    if (!entry.isPrivate) await syncFolder(cachedArtifacts);
    entry.isReady = true;
    this.trim();
  }

  /** Compared with its md5 once in the life of an agent, and again whenever it looks different. */
  private async openWhole(entry: CacheEntry): Promise<FileHandle | undefined> {
    const handle = await open(entry.path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((cause: unknown) => {
      if (isMissing(cause)) return undefined;
      throw cause;
    });
    if (!handle) return undefined;
    try {
      const stamp = await stampOf(handle);
      if (entry.seen === stamp || entry.md5 === (await md5Of(handle))) {
        entry.seen = stamp;
        entry.usedAt = Date.now();
        return handle;
      }
    } catch (cause) {
      await handle.close();
      throw cause;
    }
    await handle.close();
    return undefined;
  }

  private async release(entry: CacheEntry, handle?: FileHandle): Promise<void> {
    await handle?.close();
    entry.users--;
    if (entry.users > 0) return;
    if (!entry.isReady) {
      this.forget(entry);
      entry.stop.abort(new Error('No task waits for this file any more'));
    } else if (entry.isPrivate) this.discard(entry);
    else this.trim();
  }

  /** At once: its name may be that of the next one. */
  private discard(entry: CacheEntry): void {
    if (this.entries.get(entry.id) !== entry) return;
    this.entries.delete(entry.id);
    rmSync(entry.path, { force: true });
  }

  private forget(entry: CacheEntry): void {
    if (this.entries.get(entry.id) === entry) this.entries.delete(entry.id);
  }

  private async restore(name: string): Promise<void> {
    const path = join(this.parts.directory.cachedArtifacts, name);
    const [, id = '', md5 = ''] = cachedName.exec(name) ?? [];
    const { size, mtimeMs } = await stat(path);
    // Two of one id: a source that has changed, and an agent that ended before the former was removed.
    if (!id || this.entries.has(id)) return this.remove(path);
    this.entries.set(id, {
      id,
      isPrivate: false,
      path,
      md5,
      bytes: Math.max(leastBytes, size),
      // When it was fetched: of its use since then nothing is known.
      usedAt: mtimeMs,
      users: 0,
      isReady: true,
      ready: Promise.resolve(),
      stop: new AbortController(),
    });
  }

  /** For a disk that is almost full. */
  makeRoom(bytes: number): void {
    this.removeOldest(this.cached(), bytes);
  }

  private trim(): void {
    const cached = this.cached();
    const bytes = cached.reduce((sum, entry) => sum + entry.bytes, 0);
    this.removeOldest(cached, bytes - bytesOfMb(this.parts.settings.artifactCacheMegabytes));
  }

  private cached = (): CacheEntry[] =>
    [...this.entries.values()].filter(({ isReady, isPrivate }) => isReady && !isPrivate);

  /** Removes the least recently used files, never one that a task is getting. */
  private removeOldest(cached: readonly CacheEntry[], bytes: number): void {
    let excess = bytes;
    for (const entry of cached.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (excess <= 0) return;
      if (entry.users > 0) continue;
      excess -= entry.bytes;
      this.discard(entry);
    }
  }

  /** Removes a file; a failed removal is repeated by the next agent. */
  private async remove(path: string): Promise<void> {
    const removing = (await stat(path).catch(() => undefined))?.isDirectory()
      ? removeTree(path)
      : rm(path, { force: true });
    await removing.catch((cause: unknown) => this.parts.log.warn(`Cannot remove ${path}: ${messageOf(cause)}`));
  }
}

function idOf({ source, md5sum = '', filesize, owner }: CacheRequest): string {
  const place =
    'url' in source ? [source.url] : [source.store.endpoint, source.store.region, source.bucket, source.key];
  const content = md5sum ? { md5: md5sum.toLowerCase() } : { owner };
  return createHash('sha256').update(JSON.stringify({ place, content, filesize })).digest('hex');
}

/** The number of its links changes, and so does the time of its attributes; its content cannot change alone. */
async function stampOf(handle: FileHandle): Promise<string> {
  const { ino, size, mtimeNs } = await handle.stat({ bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}
