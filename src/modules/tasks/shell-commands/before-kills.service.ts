import { Inject, Injectable } from '@nestjs/common';
import type { ShellCommand } from '../../../core/model/request.js';
import type { TaskCleanup } from '../../../core/model/task.js';
import { holdsKill, refuseCommand } from '../../../core/tasks/shell-commands.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { SchedulerError } from '../../../platform/errors.js';

/** Commands that run in tasks before these are killed. Wake 'shell-commands' after the commit. */
@Injectable()
export class BeforeKills {
  constructor(
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Queues the command, if there is one, for a task that is locked in `tx`; the cleanup then names it. */
  async queue(tx: Transaction, cleanup: TaskCleanup, command: ShellCommand | undefined): Promise<TaskCleanup> {
    return command ? (await this.queueAll(tx, [cleanup], command))[0]! : cleanup;
  }

  /** Orders the end of those tasks that have no order yet and have not ended, the command first. */
  async createAll(tx: Transaction, cleanups: readonly TaskCleanup[], command: ShellCommand | undefined) {
    if (!command) return this.rows.taskCleanups.createAll(tx, cleanups);
    // Locked, so that no order comes in between: its command would have run for nothing.
    const locked = await this.rows.tasks.find(tx, { taskIds: cleanups.map(({ taskId }) => taskId.id), lock: 'CHANGE' });
    const free = new Set(locked.filter(({ cleaning }) => !cleaning).map(({ taskId }) => taskId.id));
    const wanted = cleanups.filter(({ taskId }) => free.has(taskId.id));
    return this.rows.taskCleanups.createAll(tx, await this.queueAll(tx, wanted, command));
  }

  private async queueAll(
    tx: Transaction,
    cleanups: readonly TaskCleanup[],
    shellCommand: ShellCommand,
  ): Promise<TaskCleanup[]> {
    const queued = await this.rows.shellCommands.queueAll(
      tx,
      cleanups.map(({ taskId, user, timestamp }) => ({ taskId, user, timestamp, shellCommand })),
    );
    return cleanups.map((cleanup, index) => {
      const { taskId, timestamp } = queued[index]!;
      return { ...cleanup, runBeforeKillId: { taskId, name: shellCommand.name, timestamp } };
    });
  }

  /** Tasks whose kill waits for its command, by id. */
  async holding(tx: Transaction, cleanups: Iterable<TaskCleanup>, now: number): Promise<Set<string>> {
    const ids = [...cleanups].flatMap(({ runBeforeKillId }) => runBeforeKillId ?? []);
    const commands = await this.rows.shellCommands.find(tx, ids);
    const limit = this.settings.runBeforeKillTimeoutMillis;
    const held = ids.filter(({ taskId }) => holdsKill(commands.get(taskId.id), limit, now));
    return new Set(held.map(({ taskId }) => taskId.id));
  }
}

/** Checks commands against those that the settings allow. */
@Injectable()
export class ShellCommandRules {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** Throws unless the command may run. `field`: where it stands in the body, '' for the whole of it. */
  refuse(command: ShellCommand | undefined, field: string): void {
    const refusal = command && refuseCommand(command, this.settings.ui.shellCommands, field);
    if (!refusal) return;
    if (refusal.kind === 'INVALID') throw SchedulerError.invalid('INVALID_REQUEST', refusal.errors);
    const { error } = refusal;
    throw new SchedulerError('UNKNOWN_SHELL_COMMAND', error.message, { errors: [error] });
  }

  /** Checks the command of an order that ends tasks. */
  refuseBeforeKill(command: ShellCommand | undefined): void {
    this.refuse(command, 'runShellCommandBeforeKill');
  }
}
