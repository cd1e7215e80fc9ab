import { constants, ftruncateSync, fstatSync, readSync, writeSync } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { ownIdentity } from '../processes/process-identity.js';
import { allNamesIn, openFileBelow, openDirectoryBelow, pathOf, placeIn } from '../sandbox/below.js';
import { compress } from './compress.js';
import { freeName, type Journal, JournalFile, partName, restName } from './journal.js';
import type { LogToRotate, RotateOrder } from './order.js';
import { StandingWriters } from './writers.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

const megabyte = 1024 * 1024;
/**
 * A longer log is compressed while its writers go on, and only the lines that came in the meantime are copied as they
 * are.
 */
const longestPlainBytes = 4 * megabyte;
/** Copied while the writers stand still: a few milliseconds. */
const lastBytes = megabyte;
/** A copy that does not catch up in so many rounds never will. */
const mostRounds = 100;

/**
 * Rotates one log of a task whose processes keep it open: copies it, empties it, and leaves a compressed file. What is
 * written between the last look of a copy and the emptying would be lost; so the writers stand still for that moment, which
 * is short, because all but the last is copied before.
 */
export async function rotateLog(order: RotateOrder, log: LogToRotate): Promise<'ROTATED' | 'NOTHING' | 'BUSY'> {
  const source = await openFileBelow(order.root, log.path, 'NONE');
  if (!source) return 'NOTHING';
  try {
    if (source.stats.size === 0) return 'NOTHING';
    const directory = await openDirectoryBelow(order.root, log.into, 'NONE');
    if (!directory) return 'NOTHING';
    try {
      const journal = await JournalFile.open(order.root, order.journal);
      const places = { source: source.handle, directory: directory.handle, journal };
      return await new Rotation(order, log, places).run().finally(() => journal.close());
    } finally {
      await directory.handle.close();
    }
  } finally {
    await source.handle.close();
  }
}

class Rotation {
  private readonly buffer = Buffer.allocUnsafe(megabyte);
  private copied = 0;
  /** From then on only the copy has what was in the log. */
  private isEmptied = false;

  constructor(
    private readonly order: RotateOrder,
    private readonly log: LogToRotate,
    private readonly places: { source: FileHandle; directory: FileHandle; journal: JournalFile },
  ) {}

  async run(): Promise<'ROTATED' | 'BUSY'> {
    const { order } = this;
    const { directory, journal, source } = this.places;
    const { extension } = order.compression;
    const name = await freeName(directory, this.log.name, extension);
    const live = await open(pathOf(source), O_RDWR | O_NONBLOCK);
    const begun = await this.begin(name);
    journal.note(begun);
    const part = await create(placeIn(directory, partName(name)));
    const rest = await create(placeIn(directory, restName(name)));
    try {
      const partBytes = await this.compressLongPart(part);
      if (!(await this.moveRest(live, rest, { ...begun, partBytes }))) return 'BUSY';
      await compress({ from: rest.fd, end: (await rest.stat()).size, to: part.fd }, order.compression);
      await part.sync();
      await rename(placeIn(directory, partName(name)), placeIn(directory, `${name}.${extension}`));
      return 'ROTATED';
    } finally {
      for (const handle of [live, part, rest]) await handle.close();
      // A failure after the emptying leaves all of it to `settle`.
      if (!this.isEmptied || (await this.isThere(`${name}.${extension}`))) await this.tidyUp(name);
    }
  }

  /** Remainders on a full disk do no harm: the next rotation, or the agent, writes over the journal. */
  private async tidyUp(name: string): Promise<void> {
    const { directory, journal } = this.places;
    for (const left of [partName(name), restName(name)]) await unlink(placeIn(directory, left)).catch(() => undefined);
    try {
      journal.note(undefined);
    } catch {
      // As above.
    }
  }

  private async begin(name: string): Promise<Journal> {
    const { path: log, into } = this.log;
    const { ino } = await this.places.source.stat();
    const { extension } = this.order.compression;
    return { ...ownIdentity(), log, into, name, extension, phase: 'COPYING', ino, size: 0, partBytes: 0 };
  }

  private async isThere(name: string): Promise<boolean> {
    return (await allNamesIn(this.places.directory)).includes(name);
  }

  private async compressLongPart(part: FileHandle): Promise<number> {
    const { size } = await this.places.source.stat();
    if (size <= longestPlainBytes) return 0;
    await compress({ from: this.places.source.fd, end: size, to: part.fd }, this.order.compression);
    this.copied = size;
    await part.sync();
    return (await part.stat()).size;
  }

  /** False: the writers would not stand still, and the log is as it was. */
  private async moveRest(live: FileHandle, rest: FileHandle, journal: Journal): Promise<boolean> {
    for (let round = 0; this.left() > lastBytes; round++) {
      if (round === mostRounds) return false;
      this.copyTo(rest, fstatSync(this.places.source.fd).size);
      // Signals and the time limit get their turn.
      await new Promise(setImmediate);
    }
    this.places.journal.note(journal);
    const { root: sandbox, isOwnUser, group } = this.order;
    const path = `${sandbox}/${this.log.path}`;
    const standing = StandingWriters.stop({ sandbox, path, ino: journal.ino, isOwnUser, group });
    if (!standing) return false;
    try {
      while (this.left() > 0) this.copyTo(rest, fstatSync(this.places.source.fd).size);
      this.places.journal.note({ ...journal, phase: 'COPIED', size: this.copied });
      // Nothing may fail for want of room once the log is empty.
      const emptied = this.places.journal.prepare({ ...journal, phase: 'EMPTIED', size: this.copied });
      try {
        ftruncateSync(live.fd, 0);
      } catch (cause) {
        emptied.drop();
        throw cause;
      }
      this.isEmptied = true;
      emptied.take();
      return true;
    } finally {
      standing.goOn();
    }
  }

  private left(): number {
    return fstatSync(this.places.source.fd).size - this.copied;
  }

  private copyTo(rest: FileHandle, end: number): void {
    while (this.copied < end) {
      const wanted = Math.min(this.buffer.length, end - this.copied);
      const bytes = readSync(this.places.source.fd, this.buffer, 0, wanted, this.copied);
      // The task itself has made its log shorter.
      if (bytes === 0) throw new Error(`${this.log.path} was cut short while it was copied`);
      for (let written = 0; written < bytes;) written += writeSync(rest.fd, this.buffer, written, bytes - written);
      this.copied += bytes;
    }
  }
}

const create = (path: string | Buffer): Promise<FileHandle> =>
  open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
