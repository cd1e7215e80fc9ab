import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { errorCode, isMissing } from '../files.js';
import { O_PATH, pathOf } from './below.js';

/** A folder that is filled while it is emptied is left to the next time. */
const mostPasses = 100_000;

/**
 * Removes a folder of a task with all that is in it. What removes by path can be made to remove elsewhere, by a link that
 * takes the place of a folder; here each folder is held while it is emptied. Folders in it are first moved up, so that
 * one of any depth is two handles deep. Answers whether there was one.
 */
export async function removeTree(path: string): Promise<boolean> {
  const root = await openFolder(path);
  if (!root) return false;
  try {
    await emptyRoot(pathOf(root), path);
  } finally {
    await root.close();
  }
  await rmdir(path);
  return true;
}

async function emptyRoot(root: string, name: string): Promise<void> {
  const stem = `.${randomUUID()}-`;
  let moved = 0;
  for (let pass = 0; pass < mostPasses; pass++) {
    let isEmpty = true;
    for await (const entry of await opendir(root)) {
      isEmpty = false;
      await removeEntry(`${root}/${entry.name}`, () => `${root}/${stem}${++moved}`);
    }
    if (isEmpty) return;
  }
  throw new Error(`${name} is filled faster than it can be emptied`);
}

async function removeEntry(path: string, nameAbove: () => string): Promise<void> {
  if (await removeFile(path)) return;
  const folder = await openFolder(path);
  if (!folder) return;
  try {
    for await (const entry of await opendir(pathOf(folder))) {
      const inner = `${pathOf(folder)}/${entry.name}`;
      if (await removeFile(inner)) continue;
      await (await openFolder(inner))?.close();
      await rename(inner, nameAbove());
    }
  } finally {
    await folder.close();
  }
  await rmdir(path);
}

/** False: it is a folder. */
async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'EISDIR') return false;
    if (isMissing(cause)) return true;
    throw cause;
  }
}

/** Its owner may have closed it to itself. undefined: it is none, or not there any more. */
async function openFolder(path: string): Promise<FileHandle | undefined> {
  try {
    const folder = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    await chmod(pathOf(folder), 0o700).catch(() => undefined);
    return folder;
  } catch (cause) {
    if (isMissing(cause) || errorCode(cause) === 'ELOOP') return undefined;
    throw cause;
  }
}
