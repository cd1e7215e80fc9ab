import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ShellCommand } from '../../../core/model/request.js';
import type { TaskCleanup } from '../../../core/model/task.js';
import { holdsKill } from '../../../core/shell-commands/index.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { LiveTasks } from '../live-tasks.service.js';
import { TaskCleanups } from '../task-cleanups.service.js';
import { ShellCommandStore } from './shell-command-store.service.js';

/** Commands that run in tasks before these are killed. Wake 'shell-commands' after the commit. */
@Injectable()
export class BeforeKills {
  constructor(
    private readonly tasks: LiveTasks,
    private readonly cleanups: TaskCleanups,
    private readonly commands: ShellCommandStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Queues the command, if there is one, for a task that is locked in `tx`; the cleanup then names it. */
  async queue(tx: EntityManager, cleanup: TaskCleanup, command: ShellCommand | undefined): Promise<TaskCleanup> {
    if (!command) return cleanup;
    const { taskId, user, timestamp } = cleanup;
    const queued = await this.commands.queue(tx, { taskId, user, timestamp, shellCommand: command });
    return { ...cleanup, runBeforeKillId: { taskId, name: command.name, timestamp: queued.timestamp } };
  }

  /** Orders the end of a task that has no order yet, the command first. false: it has one, or has ended. */
  async create(tx: EntityManager, cleanup: TaskCleanup, command: ShellCommand | undefined): Promise<boolean> {
    if (!command) return this.cleanups.create(tx, cleanup);
    // Locked, so that no order comes in between: its command would have run for nothing.
    const [task] = await this.tasks.find(tx, { taskIds: [cleanup.taskId.id], lock: true });
    if (!task || task.cleaning) return false;
    return this.cleanups.create(tx, await this.queue(tx, cleanup, command));
  }

  /** Tasks whose kill waits for its command, by id. */
  async holding(tx: EntityManager, cleanups: Iterable<TaskCleanup>, now: number): Promise<Set<string>> {
    const ids = [...cleanups].flatMap(({ runBeforeKillId }) => runBeforeKillId ?? []);
    const commands = await this.commands.find(tx, ids);
    const limit = this.settings.runBeforeKillTimeoutMillis;
    const held = ids.filter(({ taskId }) => holdsKill(commands.get(taskId.id), limit, now));
    return new Set(held.map(({ taskId }) => taskId.id));
  }
}
