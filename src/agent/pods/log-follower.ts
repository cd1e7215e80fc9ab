import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import type { Log } from '../agent-context.js';
import { errorCode, isMissing, messageOf, readIfThere, writeWhole } from '../files.js';
import { takeLines, type Stream, streams } from './cri-lines.js';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const chunkBytes = 256 * 1024;
/** Others want their turn, too. */
const mostBytesAtOnce = 32 * 2 ** 20;
/** A file that has a successor is written to for a moment longer. */
const settleMillis = 1_000;
/** Each line begins with its time: this tells a file from all others. */
const headBytes = 512;

/** The beginning of a file, by which it is known again under whatever name, compressed or not. */
const Head = z.object({ bytes: z.number(), digest: z.string() });
type Head = z.infer<typeof Head>;

/** How far the files of a container were taken, and how long the output was then. What is beyond that is written once more, the same. */
const Cursor = z.object({
  /** Order of the newest file that was taken to its end. */
  done: z.string(),
  /** A file that was taken to its end, whose order is not known. */
  last: Head.optional(),
  /** Of the file after those. Absent: nothing of it was taken. */
  head: Head.optional(),
  offset: z.number(),
  within: z.object({ stream: z.enum(streams), isPartial: z.boolean() }).optional(),
  sizes: z.record(z.enum(streams), z.number()),
});
type Cursor = z.infer<typeof Cursor>;

interface SourceFile {
  path: string;
  /** Files are ordered as their texts are. */
  order: string;
  isCompressed: boolean;
}

interface Place {
  /** Folder of the output: `stdout`, `stderr`, and before each was begun anew `stdout.1`, `stderr.1`. */
  logs: string;
  /** Path of the cursor. */
  cursor: string;
}

/**
 * Takes what a container wrote from the files that the kubelet keeps of it, and writes it, stream by stream, to files of the
 * agent, which keep it when the pod has gone. The kubelet renames a file that has grown, begins another, and compresses and
 * removes older ones; nothing is taken twice or passed over, whenever this process ends, unless it was removed before it could be read.
 */
export class LogFollower {
  private source: FileHandle | undefined;
  private turn: Promise<void> = Promise.resolve();

  private constructor(
    private readonly place: Place,
    private cursor: Cursor,
    private readonly options: { name: string; mostBytes: number; log: Log },
  ) {}

  /** `mostBytes`: of each stream, of which its newer half at least is kept. */
  static async open(place: Place, options: { name: string; mostBytes: number; log: Log }): Promise<LogFollower> {
    const text = await readIfThere(place.cursor);
    const cursor: Cursor = text
      ? Cursor.parse(JSON.parse(text))
      : { done: '', offset: 0, sizes: { stdout: 0, stderr: 0 } };
    for (const stream of streams) {
      const size = await lstat(join(place.logs, stream)).then(({ size }) => size, unlessMissing);
      // It was being begun anew.
      if (size === undefined) cursor.sizes[stream] = 0;
      if (size === undefined) await writeFile(join(place.logs, stream), '', { mode: 0o640 });
    }
    return new LogFollower(place, cursor, options);
  }

  /** All that is there by now, or much of it. `folder`: of the container, as the kubelet names it. */
  take(folder: string): Promise<void> {
    this.turn = this.turn.catch(() => undefined).then(() => this.takeIn(folder));
    return this.turn;
  }

  /** It can go on after that. */
  close(): Promise<void> {
    this.turn = this.turn.catch(() => undefined).then(() => this.closeSource());
    return this.turn;
  }

  private async takeIn(folder: string): Promise<void> {
    for (let left = mostBytesAtOnce; left > 0;) {
      if (!this.source && !(await this.openNext(folder))) return;
      // The next one was compressed, and has been taken as a whole.
      if (!this.source) continue;
      const taken = await this.takeChunk(this.source);
      left -= taken;
      if (taken === 0 && !(await this.moveOn(this.source, folder))) return;
    }
  }

  /** False: there is none. */
  private async openNext(folder: string): Promise<boolean> {
    const { cursor } = this;
    const files = await this.filesIn(folder);
    if (cursor.last && files[0] && (await isSame(files[0], cursor.last))) cursor.done = files.shift()!.order;
    const [next] = files;
    if (!next) return false;
    if (cursor.head && !(await isSame(next, cursor.head))) {
      this.lost('the kubelet removed it before it was read');
      this.begin();
    }
    if (next.isCompressed) await this.takeCompressed(next);
    else this.source = await openPlain(next.path);
    return next.isCompressed || this.source !== undefined;
  }

  private async takeChunk(source: FileHandle): Promise<number> {
    const { size } = await source.stat();
    const wanted = Math.min(chunkBytes, size - this.cursor.offset);
    if (wanted <= 0) return 0;
    const { buffer, bytesRead } = await source.read(Buffer.allocUnsafe(wanted), 0, wanted, this.cursor.offset);
    return this.write(buffer.subarray(0, bytesRead));
  }

  private async takeCompressed(file: SourceFile): Promise<void> {
    let skipped = 0;
    let rest = Buffer.alloc(0);
    const from = this.cursor.offset;
    try {
      for await (const chunk of decompressed(file.path)) {
        const wanted = chunk.subarray(Math.min(chunk.length, from - skipped));
        skipped += chunk.length - wanted.length;
        const bytes = Buffer.concat([rest, wanted]);
        rest = bytes.subarray(await this.write(bytes));
      }
    } catch (cause) {
      if (['ENOSPC', 'EDQUOT', 'EIO'].includes(errorCode(cause) ?? '')) throw cause;
      this.lost(messageOf(cause));
    }
    await this.finish(file.order);
  }

  /** The source has nothing more now. False: nothing comes after it yet. */
  private async moveOn(source: FileHandle, folder: string): Promise<boolean> {
    const { ino, mtimeMs } = await source.stat();
    const files = await this.filesIn(folder);
    const [first] = files;
    if (!first) return false;
    let isSource: boolean;
    if (first.isCompressed) isSource = this.cursor.head !== undefined && (await isSame(first, this.cursor.head));
    else {
      const stats = await lstat(first.path).catch(unlessMissing);
      // It was renamed or compressed just now.
      if (!stats) return false;
      isSource = stats.ino === ino;
    }
    if (isSource && files.length === 1) return false;
    if (Date.now() - mtimeMs < settleMillis) return false;
    if ((await this.takeChunk(source)) > 0) return true;
    // What is neither there nor compressed was removed, and what is there is newer.
    await this.finish(isSource ? first.order : undefined);
    return true;
  }

  private async finish(order: string | undefined): Promise<void> {
    if (order === undefined) this.cursor.last = this.cursor.head;
    else this.cursor.done = order;
    this.begin();
    await this.save();
    await this.closeSource();
  }

  private begin(): void {
    Object.assign(this.cursor, { head: undefined, offset: 0, within: undefined });
  }

  /** Those that are not done, in the order in which they were begun. Of one that is being compressed only the one is there that is whole. */
  private async filesIn(folder: string): Promise<SourceFile[]> {
    const names = await readdir(folder).catch((cause: unknown) => {
      if (isMissing(cause)) return [];
      throw cause;
    });
    const found = new Map<string, SourceFile>();
    for (const name of names.toSorted()) {
      const [, start, time = '~', ending] = /^(\d{1,9})\.log(?:\.(\d{8}-\d{6})(\.gz)?)?$/.exec(name) ?? [];
      if (start === undefined) continue;
      const order = `${start.padStart(9, '0')} ${time}`;
      if (order > this.cursor.done && !found.has(order))
        found.set(order, { path: join(folder, name), order, isCompressed: ending !== undefined });
    }
    return [...found.values()].toSorted((a, b) => (a.order < b.order ? -1 : 1));
  }

  /** Answers how much of it need not be seen again. */
  private async write(bytes: Buffer): Promise<number> {
    const { cursor } = this;
    const { used, within, ...taken } = takeLines(bytes, cursor.within);
    if (used === 0) return 0;
    const sizes = { ...cursor.sizes };
    for (const stream of streams) {
      const text = Buffer.concat(taken[stream]);
      if (text.length === 0) continue;
      if (sizes[stream] > 0 && sizes[stream] + text.length > this.options.mostBytes / 2) {
        await this.beginAnew(stream);
        sizes[stream] = 0;
      }
      await writeAt(join(this.place.logs, stream), text, sizes[stream]);
      sizes[stream] += text.length;
    }
    if (cursor.offset === 0) cursor.head = headOf(bytes.subarray(0, Math.min(used, headBytes)));
    Object.assign(cursor, { offset: cursor.offset + used, within, sizes });
    await this.save();
    return used;
  }

  private async beginAnew(stream: Stream): Promise<void> {
    const path = join(this.place.logs, stream);
    await truncate(path, this.cursor.sizes[stream]);
    await rename(path, `${path}.1`);
    this.cursor.sizes[stream] = 0;
    await this.save();
  }

  private save = (): Promise<void> => writeWhole(this.place.cursor, JSON.stringify(this.cursor));

  private async closeSource(): Promise<void> {
    const { source } = this;
    this.source = undefined;
    await source?.close();
  }

  private lost(why: string): void {
    this.options.log.warn(`Some output of ${this.options.name} is lost: ${why}`);
  }
}

const headOf = (bytes: Buffer): Head => ({
  bytes: bytes.length,
  digest: createHash('sha256').update(bytes).digest('hex'),
});

async function isSame({ path, isCompressed }: SourceFile, head: Head): Promise<boolean> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    if (!isCompressed) {
      const file = await openPlain(path);
      try {
        const { buffer, bytesRead } = (await file?.read(Buffer.alloc(head.bytes), 0, head.bytes, 0)) ?? {};
        return buffer !== undefined && headOf(buffer.subarray(0, bytesRead)).digest === head.digest;
      } finally {
        await file?.close();
      }
    }
    for await (const chunk of decompressed(path)) {
      parts.push(chunk);
      length += chunk.length;
      if (length >= head.bytes) break;
    }
  } catch {
    return false;
  }
  return headOf(Buffer.concat(parts).subarray(0, head.bytes)).digest === head.digest;
}

/** undefined: it is not there (any more), or is no file: some runtimes leave a link to what they write elsewhere, in another form. */
async function openPlain(path: string): Promise<FileHandle | undefined> {
  try {
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (cause) {
    if (!isMissing(cause) && errorCode(cause) !== 'ELOOP') throw cause;
  }
  return undefined;
}

async function* decompressed(path: string): AsyncGenerator<Buffer> {
  const file = await openPlain(path);
  if (!file) return;
  const unpack = createGunzip({ chunkSize: chunkBytes });
  const feeding = pipeline(file.createReadStream(), unpack);
  feeding.catch(() => undefined);
  try {
    yield* unpack as AsyncIterable<Buffer>;
    await feeding;
  } finally {
    unpack.destroy();
    await file.close().catch(() => undefined);
  }
}

async function writeAt(path: string, bytes: Buffer, at: number): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o640);
  try {
    for (let done = 0; done < bytes.length;)
      done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  } finally {
    await file.close();
  }
}

function unlessMissing(cause: unknown): undefined {
  if (!isMissing(cause)) throw cause;
}
