import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, lstat, open, rename, rmdir, unlink } from 'node:fs/promises';
import { isMissing, messageOf } from '../files.js';
import { namesIn, O_PATH, pathOf, placeIn } from './below.js';
import { shownName } from './names.js';

/** What a folder still has after so long is left to the next try: others wait, and it may be filled while it is emptied. */
const longestMillis = 30_000;
const bytesPerBlock = 512;

export interface Removed {
  bytes: number;
}

/**
 * Removes a folder of a task with all that is in it. What removes by path can be made to remove elsewhere, by a link that
 * takes the place of a folder; here each folder is held while it is emptied. Folders in it are first moved up, so that
 * one of any depth is two handles deep. What cannot be removed keeps nothing else, and is what the error tells of: a try ends
 * when it gets no further. undefined: there was none.
 */
export async function removeTree(path: string, withinMillis = longestMillis): Promise<Removed | undefined> {
  const root = await openFolder(path);
  if (!root) return undefined;
  const removal = new Removal(root, performance.now() + withinMillis);
  try {
    await removal.empty();
    await rmdir(path);
  } catch (cause) {
    throw new Error(`${path} cannot be removed: ${messageOf(cause)}`, { cause });
  } finally {
    await root.close();
  }
  return { bytes: removal.bytes };
}

class Removal {
  bytes = 0;
  /** What has been removed or moved up. */
  private steps = 0;
  private readonly stem = `.${randomUUID()}-`;
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
      for await (const name of namesIn(this.root)) {
        isEmpty = false;
        await this.remove(name);
        if (performance.now() > this.deadline) throw this.stuck('it takes too long');
      }
      if (isEmpty) return;
      if (this.steps === before) throw this.stuck('something is left of it');
    }
  }

  private stuck(why: string): Error {
    if (!this.failure) return new Error(why);
    const { name, cause } = this.failure;
    return new Error(`${why}, such as ${JSON.stringify(shownName(name))}: ${messageOf(cause)}`, { cause });
  }

  /** Of the root. Folders in it move up. */
  private async remove(name: string): Promise<void> {
    const place = placeIn(this.root, name);
    await this.tryTo(name, async () => {
      if (await this.removeFile(place)) return;
      const folder = await openFolder(place);
      if (!folder) return;
      try {
        for await (const inner of namesIn(folder)) {
          await this.tryTo(inner, () => this.removeOrMove(placeIn(folder, inner)));
          if (performance.now() > this.deadline) return;
        }
      } finally {
        await folder.close();
      }
      await rmdir(place);
      this.steps++;
    });
  }

  private async removeOrMove(place: string | Buffer): Promise<void> {
    if (await this.removeFile(place)) return;
    await (await openFolder(place))?.close();
    await rename(place, placeIn(this.root, `${this.stem}${this.steps}`));
    this.steps++;
  }

  /** False: it is a folder. */
  private async removeFile(place: string | Buffer): Promise<boolean> {
    const stats = await lstat(place);
    if (stats.isDirectory()) return false;
    await unlink(place);
    this.bytes += freedBytes(stats);
    this.steps++;
    return true;
  }

  /** What has gone meanwhile is no failure, and no step. The first one is told: a folder that is not empty for it comes later. */
  private async tryTo(name: string, work: () => Promise<void>): Promise<void> {
    await work().catch((cause: unknown) => {
      if (!isMissing(cause)) this.failure ??= { name, cause };
    });
  }
}

/** Its other names keep it. */
const freedBytes = ({ nlink, blocks }: Stats): number => (nlink === 1 ? blocks * bytesPerBlock : 0);

/** Its owner may have closed it to itself. undefined: it is none, or not there any more. */
async function openFolder(path: string | Buffer): Promise<FileHandle | undefined> {
  try {
    const folder = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    await chmod(pathOf(folder), 0o700).catch(() => undefined);
    return folder;
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}
