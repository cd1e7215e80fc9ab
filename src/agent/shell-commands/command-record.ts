import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ShellCommandOrder } from '../../cluster/cluster-driver.js';
import { shellCommandOrder } from '../wire/agent-records.js';
import { ensureFolder, namesIn, syncFolder, writeDurably } from '../../platform/files.js';

/** `ended`: its last update is on disk. */
const SavedCommand = z.object({ order: shellCommandOrder, ended: z.boolean() });

/** Directory of the control files of a task. */
type ControlDirectory = { path: string };

const directoryOf = (task: ControlDirectory): string => join(task.path, 'commands');

/** A command that was accepted: a file among the control files of its task, for as long as the task is remembered. */
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
}
