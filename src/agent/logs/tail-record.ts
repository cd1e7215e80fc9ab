import { createHash } from 'node:crypto';
import { lstat, readFile, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { isBelow } from '../../core/files/paths.js';
import { ensureFolder, isMissing, namesIn, writeDurably } from '../../platform/files.js';
import { executorLayout, type Sandbox } from '../sandbox/sandbox-layout.js';
import type { LogSettings } from '../settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { taskIdOf } from '../state/task-directory.js';
import type { LoggedLaunch } from './plan.js';

/* Records for the program that follows the lines of logs which have a tag. Each is there as long as the sandbox with its log. */

interface TailPlace {
  directory: Pick<AgentDirectory, 'logWatcher'>;
  settings: Pick<LogSettings, 'logWatcherDirectory'>;
}

const ending = '.tail.json';

const TailRecord = z.object({ filename: z.string() });

const directoryOf = ({ directory, settings }: TailPlace): string =>
  settings.logWatcherDirectory ?? directory.logWatcher;

const pathOf = (place: TailPlace, filename: string): string =>
  join(directoryOf(place), `${createHash('sha256').update(filename).digest('hex')}${ending}`);

export async function writeTailRecord(
  place: TailPlace,
  { spec: { executorData }, sandbox: { executor } }: { spec: LoggedLaunch; sandbox: Sandbox },
  finished: boolean,
): Promise<void> {
  if (!executor || executorData?.loggingTag === undefined) return;
  const filename = executor.serviceLog;
  const { loggingTag: tag, loggingExtraFields: extraFields = {} } = executorData;
  await ensureFolder(directoryOf(place), 0o700);
  await writeDurably(pathOf(place, filename), `${JSON.stringify({ filename, tag, extraFields, finished })}\n`);
}

/** Its sandbox has gone. `name`: file name of the task. */
export async function removeTailRecord(place: TailPlace, sandbox: string, name: string): Promise<void> {
  const taskId = taskIdOf(name);
  if (taskId === undefined) return;
  await rm(pathOf(place, executorLayout(sandbox, taskId, false).serviceLog), { force: true });
}

/**
 * Removes records that were written before `before`, and whose sandboxes have gone: those of earlier releases, and what a crash has left.
 * Agents may share the directory, so others than those of these sandboxes stay.
 */
export async function removeTailRecordsBefore(
  place: TailPlace,
  sandboxes: readonly string[],
  before: number,
): Promise<void> {
  for (const name of await namesIn(directoryOf(place))) {
    if (!name.endsWith(ending)) continue;
    const path = join(directoryOf(place), name);
    const written = await lstat(path).catch(() => undefined);
    // A task that runs has an old one, too.
    if (!written?.isFile() || written.mtimeMs >= before) continue;
    const filename = await readFilename(path);
    const root = filename && sandboxes.find((each) => isBelow(filename, each));
    if (!filename || !root) continue;
    const [sandbox = ''] = relative(root, filename).split(sep);
    if (await hasGone(join(root, sandbox))) await rm(path, { force: true });
  }
}

const hasGone = (path: string): Promise<boolean> => lstat(path).then(() => false, isMissing);

/** undefined: it is none of ours. */
async function readFilename(path: string): Promise<string | undefined> {
  try {
    return TailRecord.parse(JSON.parse(await readFile(path, 'utf8'))).filename;
  } catch {
    return undefined;
  }
}
