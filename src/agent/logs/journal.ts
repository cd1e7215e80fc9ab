import { randomUUID } from 'node:crypto';
import { closeSync, constants, fchownSync, openSync, renameSync, rmSync, type Stats, writeFileSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { isMissing } from '../../platform/files.js';
import { allNamesIn, openFileBelow, openDirectoryBelow, ownerOf, pathOf, placeIn } from '../sandbox/below.js';

/**
 * Progress of the rotation of one log, in a file beside the log: however the rotating program ended, its rotation is
 * either finished or as if it had not begun.
 */
export const Journal = z.object({
  /** The program that rotates. */
  pid: z.number().int(),
  startTime: z.string(),
  /** Paths below the sandbox. */
  log: z.string(),
  into: z.string(),
  /** Name of the result, without the extension of the compression. */
  name: z.string(),
  extension: z.string(),
  /**
   * COPYING: the log is as it was. COPIED: its writers stand still, all of it (`size` bytes) is copied, and it is about to be
   * emptied. EMPTIED: only the copy has it.
   */
  phase: z.enum(['COPYING', 'COPIED', 'EMPTIED']),
  ino: z.number(),
  size: z.number(),
  /** Bytes of the first, compressed part of the copy. */
  partBytes: z.number(),
});
export type Journal = z.infer<typeof Journal>;

/** Files of a rotation under way, in the directory of its results: no glob for results finds them. */
export const partName = (name: string): string => `.${name}.part`;
export const restName = (name: string): string => `.${name}.rest`;

const longest = 64 * 1024;

/** undefined: none, or one that cannot be read, which is as good as none. */
export async function readJournal(root: string, path: string): Promise<Journal | undefined> {
  const opened = await openFileBelow(root, path, 'NONE');
  if (!opened) return undefined;
  try {
    if (opened.stats.size > longest) return undefined;
    const { rotating } = z
      .object({ rotating: Journal.optional() })
      .parse(JSON.parse(await readFile(opened.handle, 'utf8')));
    return rotating;
  } catch {
    return undefined;
  } finally {
    await opened.handle.close();
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** A note that is on the disk and is not the journal yet. */
interface PreparedNote {
  take(): void;
  drop(): void;
}

/** The file itself, to be closed by the caller. */
export class JournalFile {
  private constructor(
    private readonly directory: FileHandle,
    private readonly owner: Stats,
    private readonly name: string,
  ) {}

  static async open(root: string, path: string): Promise<JournalFile> {
    const directory = await openDirectoryBelow(root, dirname(path), 'NONE');
    if (!directory) throw new Error(`${dirname(path)} is no folder of the sandbox`);
    return new JournalFile(directory.handle, directory.stats, basename(path));
  }

  /** `rotating` absent: nothing is under way. At once: writers may stand still meanwhile, and nothing may come in between. */
  note(rotating: Journal | undefined): void {
    this.prepare(rotating).take();
  }

  /** Written aside: what is left to do, a change of names, needs no room on the disk. */
  prepare(rotating: Journal | undefined): PreparedNote {
    const at = pathOf(this.directory);
    const temporary = `${at}/.${randomUUID()}.new`;
    const uid = ownerOf(this.owner);
    const drop = () => rmSync(temporary, { force: true });
    const file = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
    try {
      if (uid !== process.geteuid?.()) fchownSync(file, uid, this.owner.gid);
      writeFileSync(file, `${JSON.stringify({ rotating })}\n`);
    } catch (cause) {
      drop();
      throw cause;
    } finally {
      closeSync(file);
    }
    return { take: () => renameSync(temporary, `${at}/${this.name}`), drop };
  }

  close = (): Promise<void> => this.directory.close();
}

/**
 * Ends what a rotation left half done: a log that was emptied has all of it in its results, and one that was not has all of it
 * itself. Only names change, so that it takes no time. Nothing may write to the log that is still to be counted: its writers
 * stand still, or have ended. Answers whether anything was left.
 */
export async function settle(root: string, path: string): Promise<boolean> {
  const journal = await readJournal(root, path);
  if (!journal) return false;
  const directory = await openDirectoryBelow(root, journal.into, 'NONE');
  if (directory) {
    try {
      const at = directory.handle;
      await (journal.phase === 'EMPTIED' || (journal.phase === 'COPIED' && (await isEmptied(root, journal)))
        ? keep(root, at, journal)
        : drop(at, journal));
    } finally {
      await directory.handle.close();
    }
  }
  const file = await JournalFile.open(root, path);
  try {
    file.note(undefined);
  } finally {
    await file.close();
  }
  return true;
}

/** True when the file at the place of the log has nothing of it. */
async function isEmptied(root: string, { log, ino, size }: Journal): Promise<boolean> {
  const opened = await openFileBelow(root, log, 'NONE');
  await opened?.handle.close();
  return opened === undefined || opened.stats.ino !== ino || opened.stats.size < size;
}

const isName = (name: string): boolean => name !== '' && !name.includes('/') && !name.includes('\0');

/** The compressed part becomes a result, and the rest another one, which is compressed later. */
async function keep(root: string, at: FileHandle, { into, name, extension, partBytes }: Journal): Promise<void> {
  if (!isName(name) || !isName(extension)) return;
  if (partBytes > 0) {
    const part = await openFileBelow(root, `${into}/${partName(name)}`, 'NONE');
    if (part) {
      const writable = await open(pathOf(part.handle), constants.O_WRONLY).finally(() => part.handle.close());
      await writable.truncate(partBytes).finally(() => writable.close());
      await moveIfThere(at, partName(name), `${await freeName(at, name, extension)}.${extension}`);
    }
  } else await removeIfThere(at, partName(name));
  await moveIfThere(at, restName(name), await freeName(at, name, extension));
}

async function drop(at: FileHandle, { name }: Journal): Promise<void> {
  if (!isName(name)) return;
  for (const left of [partName(name), restName(name)]) await removeIfThere(at, left);
}

/**
 * The name, or the next that no result has, compressed or not: "_" has them sorted in the order of their lines. `after`: the name of an
 * earlier result, which may have gone.
 */
export async function freeName(at: FileHandle, name: string, extension: string, after?: string): Promise<string> {
  const taken = new Set(await allNamesIn(at));
  const first = after === name ? 1 : after?.startsWith(`${name}_`) ? Number(after.slice(name.length + 1)) + 1 : 0;
  for (let count = first; ; count++) {
    const candidate = count === 0 ? name : `${name}_${count}`;
    if (!taken.has(candidate) && !taken.has(`${candidate}.${extension}`)) return candidate;
  }
}

const unlessMissing = async (work: Promise<void>): Promise<void> => {
  await work.catch((cause: unknown) => {
    if (!isMissing(cause)) throw cause;
  });
};
const moveIfThere = (at: FileHandle, from: string, to: string) =>
  unlessMissing(rename(placeIn(at, from), placeIn(at, to)));
const removeIfThere = (at: FileHandle, name: string) => unlessMissing(unlink(placeIn(at, name)));
