import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errorCode, messageOf } from '../../platform/files.js';
import {
  allNamesIn,
  createFileBelow,
  O_PATH,
  openDirectoryBelow,
  pathOf,
  placeIn,
  unlessUnseen,
} from '../sandbox/below.js';
import { diskUse, TooDeep } from '../sandbox/disk-use.js';
import { shownName } from '../sandbox/names.js';
import { diskIsFull, isTrouble, type Meter } from './download.js';
import { DeployFault } from './order.js';
import type { StagingArea } from './staging.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

const tarEndings = ['.tar', '.tar.gz', '.tgz', '.tar.bz2', '.tbz2', '.tar.xz', '.txz'];

const endsWithOne = (name: string, endings: readonly string[]): boolean =>
  endings.some((ending) => name.toLowerCase().endsWith(ending));
const isOfTools = (name: string): boolean => endsWithOne(name, [...tarEndings, '.zip']);
export const isArchive = (name: string): boolean => isOfTools(name) || endsWithOne(name, ['.gz']);

/**
 * Unpacks into `directory` what is open, by the ending of its name. The tools run as the task's user, so that an archive can
 * do no more than the task. What comes out is bounded while it comes: the bytes that go into tar are counted, one file is
 * bounded by the kernel, and files are counted as the tools name them and on the disk. The tools follow links that are there
 * before they begin, such as those of another archive; so each works in an empty directory, and what came out is moved from there.
 */
export async function unpack(name: string, file: FileHandle, directory: string, staging: StagingArea): Promise<void> {
  const target = await openDirectoryBelow(staging.root, directory, 'NONE');
  try {
    if (!target) throw new DeployFault('its folder is gone');
    if (isOfTools(name)) await unpackAside(name, file, target.handle, staging);
    else await bounded(staging, () => unzipOne(name, file, { ...staging, directory }));
  } catch (cause) {
    if (staging.meter.fault) throw staging.meter.fault;
    if (isTrouble(cause) || cause instanceof MachineLacks) throw cause;
    const why = cause instanceof DeployFault ? messageOf(cause) : `cannot be unpacked: ${messageOf(cause)}`;
    throw new DeployFault(`${name}: ${why}`, { cause });
  } finally {
    // Not waited for: a stream that was broken off may still read.
    void target?.handle.close().catch(() => undefined);
  }
}

/** Until it is done, or too much has come out. */
async function bounded(staging: StagingArea, work: (over: AbortSignal) => Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work(done.signal), watchDisk(staging, done.signal)]).finally(() => done.abort());
  await measure(staging);
}

async function unpackAside(name: string, file: FileHandle, target: FileHandle, staging: StagingArea): Promise<void> {
  const path = `${pathOf(target)}/.unpacking-${randomUUID()}`;
  await mkdir(path, { mode: 0o700 });
  const aside = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await bounded(staging, (over) => unpackInto(name.toLowerCase(), file, new Tools(aside, staging, over)));
    // Archives may have a mode for the directory itself.
    await aside.chmod(0o700);
    await moveAll(aside, target);
  } finally {
    void aside.close().catch(() => undefined);
  }
  await rmdir(path);
}

/** A moved file replaces the one of its name; directories are merged. No link is followed. */
async function moveAll(from: FileHandle, to: FileHandle): Promise<void> {
  for (const name of await allNamesIn(from)) {
    const [source, place] = [placeIn(from, name), placeIn(to, name)];
    const stats = await lstat(source);
    if (!stats.isDirectory()) {
      await rename(source, place).catch((cause: unknown) => {
        throw errorCode(cause) === 'EISDIR'
          ? new DeployFault(`${shownName(name)} is a folder already`, { cause })
          : cause;
      });
    } else await moveDirectory(source, place, stats.mode & 0o7777);
  }
}

async function moveDirectory(source: string | Buffer, place: string | Buffer, mode: number): Promise<void> {
  const there = await unlessUnseen(() => lstat(place));
  if (there && !there.isDirectory()) await unlink(place);
  const from = await open(source, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    // Only a directory that can be written to can be moved, or emptied.
    await chmod(pathOf(from), 0o700);
    if (!there?.isDirectory()) {
      await rename(source, place);
      await chmod(pathOf(from), mode);
    } else {
      const to = await open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await moveAll(from, to).finally(() => to.close());
      await rmdir(source);
    }
  } finally {
    await from.close();
  }
}

/** A tool, or space on the disk: no archive is to blame. */
class MachineLacks extends Error {}

async function unpackInto(name: string, file: FileHandle, tools: Tools): Promise<void> {
  if (name.endsWith('.zip')) {
    // unzip wants to move about in the file: the tool gets it as an open file, number 3.
    await tools.end(tools.start(['unzip', '-o', '/proc/self/fd/3'], 'ignore', file));
  } else {
    const tar = tools.start(['tar', '--no-same-owner', '-xvf', '-'], 'pipe');
    await tools.feed(await unpacked(file, tools), tar);
  }
}

/** One file, without a tool. */
async function unzipOne(archive: string, file: FileHandle, staging: StagingArea): Promise<void> {
  const plain = `${staging.directory}/${archive.slice(0, -'.gz'.length)}`;
  const target = await createFileBelow(staging.root, plain, 0o644);
  const source = file.createReadStream({ autoClose: false, start: 0 });
  await pipeline(source, createGunzip(), countedBy(staging.meter), async (chunks) => {
    for await (const chunk of chunks as AsyncIterable<Buffer>) await target.appendFile(chunk);
  }).finally(() => target.close());
}

const countedBy = (meter: Meter) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      meter.check((bytes += chunk.length));
      yield chunk;
    }
  };

/** By what the file begins with, as tar itself would. */
async function unpacked(file: FileHandle, tools: Tools): Promise<Readable> {
  const { buffer } = await file.read(Buffer.alloc(6), 0, 6, 0);
  const start = buffer.toString('latin1');
  const source = file.createReadStream({ autoClose: false, start: 0 });
  if (start.startsWith('\x1f\x8b')) {
    const plain = createGunzip();
    pipeline(source, plain).catch((cause: Error) => plain.destroy(cause));
    return plain;
  }
  if (start.startsWith('BZh')) return tools.filter(['bzip2', '-dc'], source);
  if (start.startsWith('\xfd7zXZ')) return tools.filter(['xz', '-dc', '--memlimit-decompress=512MiB'], source);
  if (start.startsWith('\x28\xb5\x2f\xfd')) return tools.filter(['zstd', '-dcq'], source);
  return source;
}

const longestComplaint = 1_000;

/** A dictionary may ask for any amount of memory. */
const mostKilobytesOfMemory = 2 * 1024 * 1024;
const bytesPerBlock = 512;
const newline = 10;

/** Limit of further lines of a tool, such as the comment of an archive. */
const otherLines = 1_000;

/** Programs of the system, in the directory that is unpacked into. */
class Tools {
  /** Error output of each of them. */
  private readonly complaints = new WeakMap<ChildProcess, string>();

  constructor(
    private readonly directory: FileHandle,
    private readonly staging: StagingArea,
    private readonly over: AbortSignal,
  ) {}

  start(words: readonly string[], stdin: 'pipe' | 'ignore', file?: FileHandle): ChildProcess {
    const limits = `ulimit -c 0; ulimit -v ${mostKilobytesOfMemory}; ulimit -f "$1"; shift; exec "$@"`;
    const blocks = String(Math.ceil(this.staging.limits.totalBytes / bytesPerBlock));
    const child = spawn('/bin/sh', ['-c', limits, 'sh', blocks, ...words], {
      cwd: pathOf(this.directory),
      stdio: [stdin, 'pipe', 'pipe', ...(file ? [file.fd] : [])],
      signal: this.over,
      killSignal: 'SIGKILL',
    });
    // An abort is told of by whatever caused it.
    child.on('error', () => undefined);
    child.stderr!.on('data', (text: Buffer) => {
      const complaint = `${this.complaints.get(child) ?? ''}${text.toString()}`;
      this.complaints.set(child, complaint.slice(0, longestComplaint));
    });
    return child;
  }

  /** Output of a tool that is fed with `source`. */
  filter(words: readonly string[], source: Readable): Readable {
    const tool = this.start(words, 'pipe');
    this.untilEnd(tool).catch((cause: Error) => tool.stdout!.destroy(cause));
    pipeline(source, tool.stdin!).catch(() => undefined);
    return tool.stdout!;
  }

  /** Resolves when the tool has taken what it wanted of the stream, and has ended well. */
  async feed(source: Readable, tool: ChildProcess): Promise<void> {
    const fed = pipeline(source, countedBy(this.staging.meter), tool.stdin!);
    const ended = this.end(tool);
    // A stream that broke is the reason why the tool complains; one that the tool closed is not.
    const broken = fed.then(
      () => undefined,
      (cause: NodeJS.ErrnoException) => (cause.code === 'EPIPE' ? undefined : cause),
    );
    const cause = await Promise.race([
      broken,
      ended.then(
        () => undefined,
        () => undefined,
      ),
    ]);
    if (cause) {
      void ended.catch(() => undefined);
      throw cause;
    }
    await ended;
  }

  /** It says a line for each file that it unpacks, so that they are counted long before they are found on the disk. */
  async end(tool: ChildProcess): Promise<void> {
    const { meter } = this.staging;
    let files = 0;
    tool.stdout!.on('data', (text: Buffer) => {
      for (const byte of text) if (byte === newline) files += 1;
      if (meter.isTooMany(files - otherLines)) tool.kill('SIGKILL');
    });
    await this.untilEnd(tool).finally(() => meter.check(0, files - otherLines));
  }

  private async untilEnd(tool: ChildProcess): Promise<void> {
    const [code, signal] = (await once(tool, 'close')) as [number | null, NodeJS.Signals | null];
    if (code === 0) return;
    const program = tool.spawnargs[5] ?? '';
    if (code === 127) throw new MachineLacks(`${program} is not installed on this machine`);
    const complaint = this.complaints.get(tool) ?? '';
    if (/No space left on device/i.test(complaint)) throw new MachineLacks(diskIsFull);
    if (signal === 'SIGXFSZ') throw new DeployFault('A file of the archive is too large');
    throw new DeployFault(`${program}: ${complaint.split('\n')[0] || `ended with ${code ?? signal}`}`);
  }
}

/** At least; looks take a fifth of the time, however many files there are. */
const checkEveryMillis = 200;
const pauseForChecks = 4;

/** Rejects when too much has come out. */
async function watchDisk(staging: StagingArea, over: AbortSignal): Promise<never> {
  for (let took = 0; ;) {
    const pause = Math.max(checkEveryMillis, took * pauseForChecks);
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (over.aborted) return new Promise<never>(() => undefined);
    const began = performance.now();
    await measure(staging);
    await staging.meter.checkDisk();
    took = performance.now() - began;
  }
}

/** No further than to what is too much. */
async function measure({ root, meter }: StagingArea): Promise<void> {
  try {
    for await (const { bytes, files } of diskUse(root)) meter.check(bytes, files);
  } catch (cause) {
    if (cause instanceof TooDeep) throw new DeployFault(messageOf(cause), { cause });
    throw cause;
  }
}
