import { lstat, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { AgentContext } from '../agent-context.js';
import { isMissing } from '../../platform/files.js';
import type { LogSettings } from '../settings.js';
import { createFileBelow, openFileBelow, openDirectoryBelow, placeIn, unlessUnseen } from '../sandbox/below.js';
import { fitsFileSystem } from '../sandbox/names.js';
import { freeName, partName } from './journal.js';
import type { Compression } from './order.js';
import { namesIn, type TaskLog } from './plan.js';
import { Worker } from './programs.js';
import { isResultOf, rotatedName, surplus } from './schedule.js';
import { nobody } from '../processes/run-as.js';

/** Compressing it takes no longer than to start a program for it. */
const smallBytes = 1024 * 1024;

export const compressionOf = ({
  logrotateCompressionSettings: custom,
}: Pick<LogSettings, 'logrotateCompressionSettings'>): Compression => ({
  command: custom?.compressCmd,
  options: custom?.compressOptions ?? [],
  extension: custom?.compressExt ?? 'gz',
});

export const nameOfResult = (
  { path, dateFormat, extension }: Pick<TaskLog, 'path' | 'dateFormat' | 'extension'>,
  now: number,
): string => rotatedName(basename(path), dateFormat, extension, now);

/**
 * Moves a log to which nothing is written any more to its results, and answers the name there; undefined: an empty one is left. `after`:
 * the name of the result before it.
 */
export async function moveToResults(
  log: Pick<TaskLog, 'root' | 'path' | 'into' | 'dateFormat' | 'extension'>,
  extension: string,
  now: number,
  after?: string,
): Promise<string | undefined> {
  const { root } = log;
  const source = await openFileBelow(root, log.path, 'NONE');
  await source?.handle.close();
  if (!source || source.stats.size === 0) return undefined;
  const [from, into] = [
    await openDirectoryBelow(root, dirname(log.path), 'NONE'),
    await openDirectoryBelow(root, log.into, 'NONE'),
  ];
  try {
    if (!from || !into) return undefined;
    const name = await freeName(into.handle, nameOfResult(log, now), extension, after);
    await rename(placeIn(from.handle, basename(log.path)), placeIn(into.handle, name));
    return name;
  } finally {
    await from?.handle.close();
    await into?.handle.close();
  }
}

/** Removes a file of a sandbox, whatever it is but a directory. */
export async function removeBelow(root: string, path: string): Promise<void> {
  const directory = await openDirectoryBelow(root, dirname(path), 'NONE');
  if (!directory) return;
  try {
    await unlink(placeIn(directory.handle, basename(path)));
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
  } finally {
    await directory.handle.close();
  }
}

/** The empty log of a task that has ended. */
export async function removeIfEmpty(root: string, path: string): Promise<void> {
  const file = await openFileBelow(root, path, 'NONE');
  await file?.handle.close();
  if (file?.stats.size === 0) await removeBelow(root, path);
}

/** Removes results of a log that are too old, too many or, together, too large. */
export async function removeSurplus(
  { root, path, into }: Pick<TaskLog, 'root' | 'path' | 'into'>,
  keep: Parameters<typeof surplus>[1],
  now: number,
): Promise<void> {
  const results = await resultsOf(root, basename(path), into);
  for (const name of surplus(results, keep, now)) await removeBelow(root, join(into, name));
}

/** Removes all results of a log. `removed`: is told the bytes of each. */
export async function removeResults(
  { root, path, into }: Pick<TaskLog, 'root' | 'path' | 'into'>,
  removed: (bytes: number) => void,
): Promise<void> {
  for (const { name, size } of await resultsOf(root, basename(path), into)) {
    await removeBelow(root, join(into, name));
    removed(size);
  }
}

interface Result {
  name: string;
  mtimeMs: number;
  size: number;
}

async function resultsOf(root: string, base: string, into: string): Promise<Result[]> {
  const names = (await namesIn(root, into)).filter((name) => isResultOf(base, name));
  const directory = await openDirectoryBelow(root, into, 'NONE');
  if (!directory) return [];
  try {
    const results: Result[] = [];
    for (const name of names) {
      const stats = await unlessUnseen(() => lstat(placeIn(directory.handle, name)));
      if (stats?.isFile()) results.push({ name, mtimeMs: stats.mtimeMs, size: stats.size });
    }
    return results;
  } finally {
    await directory.handle.close();
  }
}

interface CompressOptions extends Pick<AgentContext, 'rotateProgram'> {
  settings: LogSettings;
  /** Its abort leaves what is not done yet to the next time. */
  signal: AbortSignal;
  /** Compresses only files that take no program of their own. */
  onlySmall?: boolean;
}

/** Compresses the results of a log that are not yet, such as those of a rotation that was interrupted. */
export async function compressResults(how: CompressOptions, root: string, base: string, into: string): Promise<void> {
  const compression = compressionOf(how.settings);
  const ending = `.${compression.extension}`;
  const results = await resultsOf(root, base, into);
  for (const { name } of results) {
    // One that stands beside its compressed twin was being compressed, or has been already but for the removal.
    if (name.endsWith(ending) || /\.[gb]z2?$/.test(name)) continue;
    // One whose name is as long as can be stays as it is, and keeps no other.
    if (![name + ending, partName(name)].every(fitsFileSystem)) continue;
    const twin = results.find((other) => other.name === name + ending);
    if (twin && twin.size > 0) await removeBelow(root, join(into, name));
    else await compressResult(how, root, join(into, name), compression);
  }
}

async function compressResult(
  how: CompressOptions,
  root: string,
  path: string,
  compression: Compression,
): Promise<void> {
  if (how.signal.aborted) return;
  const source = await openFileBelow(root, path, 'NONE');
  if (!source) return;
  const part = join(dirname(path), partName(basename(path)));
  const isSmall = source.stats.size <= smallBytes && compression.command === undefined;
  try {
    if (how.onlySmall && !isSmall) return;
    await removeBelow(root, part);
    const target = await createFileBelow(root, part, 0o644);
    try {
      if (isSmall) await target.writeFile(await promisify(gzip)(await source.handle.readFile()));
      else if (!(await compressByProgram(how, compression, [source.handle.fd, target.fd]))) return;
      await target.utimes(source.stats.atime, source.stats.mtime);
      await target.sync();
    } finally {
      await target.close();
    }
    await replace(root, part, `${path}.${compression.extension}`);
    await removeBelow(root, path);
  } finally {
    await source.handle.close();
    await removeBelow(root, part);
  }
}

/** False: it could not, or the agent stops, and the next one begins with it again. */
async function compressByProgram(
  { settings, rotateProgram, signal }: CompressOptions,
  compress: Compression,
  files: readonly number[],
): Promise<boolean> {
  const user = process.getuid?.() === 0 ? nobody : undefined;
  const worker = new Worker(rotateProgram, { user, compress, seconds: settings.logRotationTimeoutSeconds }, { files });
  const kill = () => worker.kill();
  signal.addEventListener('abort', kill);
  if (signal.aborted) kill();
  const answer = await worker.answer;
  signal.removeEventListener('abort', kill);
  return answer !== undefined && answer.trouble === undefined;
}

async function replace(root: string, from: string, to: string): Promise<void> {
  const directory = await openDirectoryBelow(root, dirname(from), 'NONE');
  if (!directory) return;
  try {
    await rename(placeIn(directory.handle, basename(from)), placeIn(directory.handle, basename(to)));
  } finally {
    await directory.handle.close();
  }
}
