import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../platform/log.js';
import { errorCode, isMissing, messageOf, readIfThere, writeWhole } from '../platform/files.js';
import {
  chunkBytes,
  decompressed,
  filesAfter,
  FileHead,
  headOf,
  isSame,
  openPlain,
  type SourceFile,
} from './kubelet-files.js';
import { takeLines, type Stream, streams } from './cri-lines.js';

const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/** Others want their turn, too. */
const mostBytesAtOnce = 32 * 2 ** 20;

/** A file that has a successor is written to for a moment longer. */
const settleMillis = 1_000;

/**
 * Position in the files of a container, and the length of the output then. Output beyond that is written again, with
 * the same bytes.
 */
const Cursor = z.object({
  /** Order of the newest file that was taken to its end. */
  done: z.string(),
  /** A file that was taken to its end, whose order is not known. */
  last: FileHead.optional(),
  /** Head of the file after those. Absent: nothing of it was taken. */
  head: FileHead.optional(),
  offset: z.number(),
  within: z.object({ stream: z.enum(streams), isPartial: z.boolean() }).optional(),
  sizes: z.record(z.enum(streams), z.number()),
});
type Cursor = z.infer<typeof Cursor>;

interface LogPaths {
  /** Directory of the output: `stdout`, `stderr`, and before each was begun anew `stdout.1`, `stderr.1`. */
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
  private isUnreadable = false;

  private constructor(
    private readonly place: LogPaths,
    private cursor: Cursor,
    private readonly options: { name: string; mostBytes: number; log: Log },
  ) {}

  /** `mostBytes`: of each stream, of which its newer half at least is kept. */
  static async open(place: LogPaths, options: { name: string; mostBytes: number; log: Log }): Promise<LogFollower> {
    const text = await readIfThere(place.cursor);
    const saved = text === undefined ? undefined : cursorIn(text);
    const cursor: Cursor = saved ?? { done: '', offset: 0, sizes: { stdout: 0, stderr: 0 } };
    for (const stream of streams) {
      // A power failure took it. All that the kubelet has is taken again.
      if (text !== undefined && !saved)
        await rename(join(place.logs, stream), join(place.logs, `${stream}.1`)).catch(unlessMissing);
      const size = await lstat(join(place.logs, stream)).then(({ size }) => size, unlessMissing);
      // It was being begun anew.
      if (size === undefined) cursor.sizes[stream] = 0;
      if (size === undefined) await writeFile(join(place.logs, stream), '', { mode: 0o640 });
    }
    return new LogFollower(place, cursor, options);
  }

  /** All that is there by now, or much of it. `directory`: of the container, as the kubelet names it. */
  take(directory: string): Promise<void> {
    this.turn = this.turn.catch(() => undefined).then(() => this.takeIn(directory));
    return this.turn;
  }

  /** It can go on after that. */
  close(): Promise<void> {
    this.turn = this.turn.catch(() => undefined).then(() => this.closeSource());
    return this.turn;
  }

  private async takeIn(directory: string): Promise<void> {
    for (let left = mostBytesAtOnce; left > 0;) {
      if (!this.source && !(await this.openNext(directory))) return;
      // The next one was compressed, and has been taken as a whole.
      if (!this.source) continue;
      const taken = await this.takeChunk(this.source);
      left -= taken;
      if (taken === 0 && !(await this.moveOn(this.source, directory))) return;
    }
  }

  /** False: there is none. */
  private async openNext(directory: string): Promise<boolean> {
    const { cursor } = this;
    const files = await filesAfter(this.cursor.done, directory);
    if (cursor.last && files[0] && (await isSame(files[0], cursor.last))) cursor.done = files.shift()!.order;
    const [next] = files;
    if (!next) return false;
    if (cursor.head && !(await isSame(next, cursor.head))) {
      this.lost('the kubelet removed it before it was read');
      this.begin();
    }
    if (next.isCompressed) await this.takeCompressed(next);
    else this.source = await openPlain(next.path);
    if (!next.isCompressed && !this.source) await this.complain(next.path);
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
  private async moveOn(source: FileHandle, directory: string): Promise<boolean> {
    const { ino, mtimeMs } = await source.stat();
    const files = await filesAfter(this.cursor.done, directory);
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
    if (cursor.offset === 0) cursor.head = headOf(bytes.subarray(0, used));
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

  /** Once: some runtimes leave a link to what they write elsewhere, in another form. */
  private async complain(path: string): Promise<void> {
    if (this.isUnreadable || !(await lstat(path).catch(unlessMissing))?.isSymbolicLink()) return;
    this.isUnreadable = true;
    this.options.log.warn(`The output of ${this.options.name} cannot be taken: ${path} is a link`);
  }

  private lost(why: string): void {
    this.options.log.warn(`Some output of ${this.options.name} is lost: ${why}`);
  }
}

function cursorIn(text: string): Cursor | undefined {
  try {
    return Cursor.parse(JSON.parse(text));
  } catch {
    return undefined;
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
