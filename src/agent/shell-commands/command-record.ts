import { createHash } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { ShellCommandOrder } from '../../cluster/cluster-driver.js';
import { shellCommandOrder } from '../wire/agent-records.js';
import { ensureFolder, errorCode, namesIn, syncFolder, writeDurably } from '../../platform/files.js';

/**
 * Number of records of a task that are kept, the newest by the times of their orders. A repeated order finds its record, or is older
 * than all of these: so none runs twice, however late it comes. An order that is new must not be that old, even if many were sent
 * before it: a scheduler lets a task have ten unfinished commands (`maxUnfinishedShellCommandsPerTask`).
 */
export const keptRecords = 1_000;

/** `ended`: its last update is on disk. */
const SavedCommand = z.object({ order: shellCommandOrder, ended: z.boolean() });

/** Directory of the control files of a task. */
type ControlDirectory = { path: string };

const directoryOf = (task: ControlDirectory): string => join(task.path, 'commands');

/** A command that was accepted: a file among the control files of its task, while it is one of the newest or has not ended. */
export class CommandRecord {
  private constructor(readonly path: string) {}

  /** A name may be of any length and of any characters. */
  static of(task: ControlDirectory, { name, timestamp }: ShellCommandOrder): CommandRecord {
    const key = createHash('sha256').update(name).digest('hex').slice(0, 16);
    return new CommandRecord(join(directoryOf(task), `${timestamp}-${key}.json`));
  }

  /** All of a task. */
  static async list(task: ControlDirectory): Promise<CommandRecord[]> {
    return (await namesIn(directoryOf(task)))
      .filter((name) => name.endsWith('.json'))
      .map((name) => new CommandRecord(join(directoryOf(task), name)));
  }

  /** Removes records of commands that have ended, beyond the newest. */
  static async removeOld(task: ControlDirectory): Promise<void> {
    for (const record of tooOld(await CommandRecord.list(task))) if (await record.hasEnded()) await record.remove();
  }

  /** It is older than all commands that are remembered: it may have run before. */
  async isTooOld(): Promise<boolean> {
    const all = await CommandRecord.list({ path: join(this.path, '..', '..') });
    return tooOld(all).some(({ path }) => path === this.path);
  }

  exists = (): Promise<boolean> =>
    stat(this.path).then(
      () => true,
      () => false,
    );

  async save(order: ShellCommandOrder): Promise<void> {
    const directory = join(this.path, '..');
    await ensureFolder(directory, 0o700);
    await writeDurably(this.path, JSON.stringify({ order, ended: false }));
    await syncFolder(join(directory, '..'));
  }

  markEnded = (order: ShellCommandOrder): Promise<void> =>
    writeDurably(this.path, JSON.stringify({ order, ended: true }));

  async read(): Promise<z.infer<typeof SavedCommand>> {
    return SavedCommand.parse(JSON.parse(await readFile(this.path, 'utf8')));
  }

  /** Time of its order. */
  get timestamp(): number {
    return Number.parseInt(basename(this.path), 10);
  }

  private async hasEnded(): Promise<boolean> {
    try {
      return (await this.read()).ended;
    } catch (cause) {
      // Another command that ended removed it.
      if (errorCode(cause) === 'ENOENT') return false;
      throw cause;
    }
  }

  private remove = (): Promise<void> => rm(this.path, { force: true });
}

/** Those that are older than each of the newest. */
function tooOld(records: readonly CommandRecord[]): CommandRecord[] {
  const oldestKept = records.map(({ timestamp }) => timestamp).toSorted((a, b) => b - a)[keptRecords - 1] ?? -Infinity;
  return records.filter(({ timestamp }) => timestamp < oldestKept);
}
