import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, lstat, open, rename, rmdir, unlink } from 'node:fs/promises';
import { errorCode, isMissing, messageOf } from '../../platform/files.js';
import { batchesOf, O_PATH, pathOf, placeIn } from './below.js';
import { bytesOnDisk } from './disk-use.js';
import { shownName } from './names.js';

/**
 * Time after which the rest of a directory is left to the next attempt: others wait, and it may be filled while it is
 * emptied.
 */
const longestMillis = 30_000;
const mostMoved = 1_000;

/** More of it would go if there was more time. */
export class OutOfTime extends Error {}

export interface RemovalResult {
  bytes: number;
}

/**
 * Removes a directory of a task with all that is in it. What removes by path can be made to remove elsewhere, by a link that
 * takes the place of a directory; here each directory is held while it is emptied. Directories in it are first moved up, so that
 * one of any depth is two handles deep. What cannot be removed keeps nothing else, and is what the error tells of: a try ends
 * when it gets no further. undefined: there was none.
 */
export async function removeTree(path: string, withinMillis = longestMillis): Promise<RemovalResult | undefined> {
  const root = await openDirectory(path);
  if (!root) return undefined;
  const removal = new Removal(root, performance.now() + withinMillis);
  try {
    await removal.empty();
    removal.bytes += bytesOnDisk(await root.stat());
    await rmdir(path);
  } catch (cause) {
    const NotRemoved = cause instanceof OutOfTime ? OutOfTime : Error;
    throw new NotRemoved(`${path} cannot be removed: ${messageOf(cause)}`, { cause });
  } finally {
    await root.close();
  }
  return { bytes: removal.bytes };
}

class Removal {
  bytes = 0;
  /** Number of entries removed or moved up. */
  private steps = 0;
  private readonly stem = `.${randomUUID()}-`;
  /** Directories that have moved up and come next; the root is read for others. */
  private readonly moved: string[] = [];
  private failure: { name: string; cause: unknown } | undefined;

  constructor(
    private readonly root: FileHandle,
    private readonly deadline: number,
  ) {}

  async empty(): Promise<void> {
    for (;;) {
      const before = this.steps;
      this.failure = undefined;
      let isEmpty = true;
      for await (const names of batchesOf(this.root)) {
        isEmpty = false;
        const directories = await this.removeFiles(this.root, names);
        for (
          let name = directories.pop();
          name !== undefined && !this.isTooLate();
          name = this.moved.pop() ?? directories.pop()
        )
          // Directories in it move up.
          await this.tryTo(name, () => this.emptyDirectory(name!));
        if (this.isTooLate()) throw new OutOfTime(this.whatIsLeft('it takes too long'));
      }
      if (isEmpty) return;
      if (this.steps === before) throw new Error(this.whatIsLeft('something is left of it'));
    }
  }

  private isTooLate = (): boolean => performance.now() > this.deadline;

  private whatIsLeft(why: string): string {
    if (!this.failure) return why;
    const { name, cause } = this.failure;
    return `${why}, such as ${JSON.stringify(shownName(name))}: ${messageOf(cause)}`;
  }

  private async emptyDirectory(name: string): Promise<void> {
    const place = placeIn(this.root, name);
    const directory = await openDirectory(place);
    if (!directory) return;
    let bytes = 0;
    try {
      bytes = bytesOnDisk(await directory.stat());
      for await (const names of batchesOf(directory)) {
        for (const inner of await this.removeFiles(directory, names))
          await this.tryTo(inner, () => this.moveUp(placeIn(directory, inner)));
        if (this.isTooLate()) return;
      }
    } finally {
      await directory.close();
    }
    await rmdir(place);
    this.bytes += bytes;
    this.steps++;
  }

  private async moveUp(place: string | Buffer): Promise<void> {
    const name = `${this.stem}${this.steps}`;
    const above = placeIn(this.root, name);
    await rename(place, above).catch(async (cause: unknown) => {
      if (errorCode(cause) !== 'EACCES') throw cause;
      await (await openDirectory(place))?.close();
      await rename(place, above);
    });
    this.steps++;
    if (this.moved.length < mostMoved) this.moved.push(name);
  }

  /** Answers the names of those that are directories. */
  private async removeFiles(directory: FileHandle, names: readonly string[]): Promise<string[]> {
    const directories: string[] = [];
    const linked: string[] = [];
    const remove = (name: string, others?: string[]): Promise<void> =>
      this.tryTo(name, async () => {
        const place = placeIn(directory, name);
        const stats = await lstat(place);
        if (stats.isDirectory()) return void directories.push(name);
        if (stats.nlink > 1 && others) return void others.push(name);
        await unlink(place);
        this.bytes += freedBytes(stats);
        this.steps++;
      });
    await Promise.all(names.map((name) => remove(name, linked)));
    // One by one, so that the last name of a file is seen to be the last.
    for (const name of linked) await remove(name);
    return directories;
  }

  /**
   * An entry that has gone in the meantime is no failure, and no step. The first failure is reported: a directory that is
   * not empty for it comes later.
   */
  private async tryTo(name: string, work: () => Promise<void>): Promise<void> {
    await work().catch((cause: unknown) => {
      if (!isMissing(cause)) this.failure ??= { name, cause };
    });
  }
}

/** Its other names keep it. */
const freedBytes = (stats: Stats): number => (stats.nlink === 1 ? bytesOnDisk(stats) : 0);

/** Its owner may have closed it to itself. undefined: it is none, or not there any more. */
async function openDirectory(path: string | Buffer): Promise<FileHandle | undefined> {
  try {
    const directory = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    await chmod(pathOf(directory), 0o700).catch(() => undefined);
    return directory;
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
