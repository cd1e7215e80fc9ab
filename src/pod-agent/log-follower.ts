import { constants } from 'node:fs';
import { type FileHandle, lstat, open, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
const settlePauseMillis = 50;

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
  /** Since when there have been the present files of the output, in epoch millis. Absent: written by an older version. */
  began: z.record(z.enum(streams), z.number()).optional(),
});
type Cursor = z.infer<typeof Cursor>;

interface LogPaths {
  /** Directory of the output: `stdout`, `stderr`. */
  logs: string;
  /** Path of the cursor. */
  cursor: string;
}

interface FollowerOptions {
  /** In what is logged. */
  name: string;
  log: Log;
  /** Most bytes of a file of the output, if it has more than one piece; the next one goes to another file. */
  mostBytes: number;
  /** Moves the file of a stream, which has something in it, to the results. It has gone when this resolves to true. */
  toResults(stream: Stream): Promise<boolean>;
  /** Epoch millis. */
  now(): number;
}

/**
 * Takes what a container wrote from the files that the kubelet keeps of it, and writes it, stream by stream, to files of the
 * agent, which keep it when the pod has gone. The kubelet renames a file that has grown, begins another, and compresses and
 * removes older ones; nothing is taken twice or passed over, whenever this process ends, unless it was removed before it could be read.
 *
 * It alone writes the output, so a rotation is the change of one name. What the cursor does not tell of is cut off before, for it is
 * written again; a file that has gone has its length taken for 0, because only a rotation removes it.
 */
export class LogFollower {
  private source: FileHandle | undefined;
  private turn: Promise<void> = Promise.resolve();
  private isUnreadable = false;
  /** A file that has a successor may be written to for a moment longer. */
  private isSettling = false;
  /** Nothing is written before it is saved. */
  private hasUnsavedRotation = false;

  private constructor(
    private readonly place: LogPaths,
    private cursor: Cursor,
    private readonly options: FollowerOptions,
  ) {}

  static async open(place: LogPaths, options: FollowerOptions): Promise<LogFollower> {
    const text = await readIfThere(place.cursor);
    const saved = text === undefined ? undefined : cursorIn(text);
    const cursor: Cursor = saved ?? { done: '', offset: 0, sizes: { stdout: 0, stderr: 0 } };
    const now = options.now();
    cursor.began ??= { stdout: now, stderr: now };
    for (const stream of streams) {
      // A power failure took it. All that the kubelet has is taken again.
      if (text !== undefined && !saved) await options.toResults(stream);
      const size = await lstat(join(place.logs, stream)).then(({ size }) => size, unlessMissing);
      if (size !== undefined) continue;
      // It was being rotated.
      cursor.sizes[stream] = 0;
      cursor.began[stream] = now;
      await makeEmpty(join(place.logs, stream));
    }
    return new LogFollower(place, cursor, options);
  }

  /** All that is there by now, or much of it. `directory`: of the container, as the kubelet names it. */
  async take(directory: string): Promise<void> {
    await this.inTurn(() => this.takeIn(directory));
  }

  /** All that is there. False: it is so much that it is not done in time. */
  async takeAll(directory: string, millis: number): Promise<boolean> {
    for (const until = performance.now() + millis; performance.now() < until;) {
      if (await this.inTurn(() => this.takeIn(directory))) return true;
      if (this.isSettling) await delay(settlePauseMillis);
    }
    return false;
  }

  /** Moves a stream to its results: what follows goes to a new file. An empty one stays. */
  rotate(stream: Stream): Promise<void> {
    return this.inTurn(async () => {
      if (this.cursor.sizes[stream] > 0) await this.beginAnew(stream);
    });
  }

  /** Since when there has been the present file of a stream, in epoch millis. */
  beganAt = (stream: Stream): number => this.cursor.began![stream];

  /** It can go on after that. */
  close(): Promise<void> {
    return this.inTurn(() => this.closeSource());
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  /** False: there is more. */
  private async takeIn(directory: string): Promise<boolean> {
    this.isSettling = false;
    for (let left = mostBytesAtOnce; left > 0;) {
      if (!this.source && !(await this.openNext(directory))) return true;
      // The next one was compressed, and has been taken as a whole.
      if (!this.source) continue;
      const taken = await this.takeChunk(this.source);
      left -= taken;
      if (taken === 0 && !(await this.moveOn(this.source, directory))) return !this.isSettling;
    }
    return false;
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
      if (!stats) return this.waitABit();
      isSource = stats.ino === ino;
    }
    if (isSource && files.length === 1) return false;
    if (Date.now() - mtimeMs < settleMillis) return this.waitABit();
    if ((await this.takeChunk(source)) > 0) return true;
    // What is neither there nor compressed was removed, and what is there is newer.
    await this.finish(isSource ? first.order : undefined);
    return true;
  }

  private waitABit(): false {
    this.isSettling = true;
    return false;
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
    if (this.hasUnsavedRotation) await this.save();
    const sizes = { ...cursor.sizes };
    for (const stream of streams) {
      const text = Buffer.concat(taken[stream]);
      if (text.length === 0) continue;
      if (sizes[stream] > 0 && sizes[stream] + text.length > this.options.mostBytes) {
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
    if (!(await this.options.toResults(stream))) throw new Error(`${path} cannot be moved`);
    this.cursor.sizes[stream] = 0;
    this.cursor.began![stream] = this.options.now();
    this.hasUnsavedRotation = true;
    // Before there is a new one, of which the former length would be said.
    await this.save();
    await makeEmpty(path);
  }

  private async save(): Promise<void> {
    await writeWhole(this.place.cursor, JSON.stringify(this.cursor));
    this.hasUnsavedRotation = false;
  }

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

const makeEmpty = (path: string): Promise<void> => writeFile(path, '', { mode: 0o640 });

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
