import { Inject, Injectable } from '@nestjs/common';
import type { ShellCommand } from '../../../core/model/request.js';
import type {
  TaskShellCommandHistory,
  TaskShellCommandRequest,
  TaskShellCommandUpdate,
} from '../../../core/model/task.js';
import { safeName } from '../../../core/tasks/shell-commands.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import { ShellCommandRules } from './before-kills.service.js';

/** Commands that users run in tasks, and what became of them. */
@Injectable()
export class ShellCommands {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly rules: ShellCommandRules,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Queues it; the leader sends it to the machine of the task. */
  async run(id: string, shellCommand: ShellCommand, caller: Caller): Promise<TaskShellCommandRequest> {
    const queued = await this.db.transaction(async (tx) => {
      // Locked, so that the task does not end before its command stands, nor two commands take the same time.
      const [task] = await this.rows.tasks.find(tx, { taskIds: [id], lock: 'CHANGE' });
      if (!task) throw notActive(id);
      this.rules.refuse(shellCommand, '');
      const limit = this.settings.maxUnfinishedShellCommandsPerTask;
      if ((await this.rows.shellCommands.countUnfinished(tx, id)) >= limit) throw tooMany(id, limit);
      await this.rows.shellCommands.prune(tx, id, Math.max(0, this.settings.maxShellCommandsKeptPerTask - 1));
      const { taskId } = task;
      return this.rows.shellCommands.queue(tx, {
        taskId,
        user: caller.email,
        timestamp: this.clock.now(),
        shellCommand,
      });
    });
    this.wake.signal('shell-commands');
    return queued;
  }

  /** Commands that are not sent yet. */
  queued(): Promise<TaskShellCommandRequest[]> {
    return this.rows.shellCommands.queued(this.db.pool);
  }

  /** Commands of a live or an ended task, oldest first; none if the task is not known. */
  async ofTask(id: string): Promise<TaskShellCommandHistory[]> {
    return (await this.rows.taskHistory.find(this.db.pool, id))?.history.shellCommandHistory ?? [];
  }

  async updates(id: string, name: string, timestamp: number): Promise<TaskShellCommandUpdate[]> {
    const found = (await this.ofTask(id)).find(
      ({ shellRequest }) =>
        shellRequest.timestamp === timestamp && safeName(shellRequest.shellCommand.name) === safeName(name),
    );
    return found?.shellUpdates ?? [];
  }
}

const notActive = (id: string) => new SchedulerError('TASK_NOT_ACTIVE', `Task '${id}' is not active`);

const tooMany = (id: string, limit: number) =>
  new SchedulerError('TOO_MANY_COMMANDS', `Task '${id}' has ${limit} shell commands that wait or run already`);
