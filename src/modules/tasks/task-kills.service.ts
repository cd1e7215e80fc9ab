import { Inject, Injectable } from '@nestjs/common';
import type { TaskCleanupType } from '../../core/model/enums.js';
import type { KilledTaskIdRecord, KillTaskRequest, TaskCleanup } from '../../core/model/task.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import { BeforeKills, ShellCommandRules } from './shell-commands/before-kills.service.js';

/** The cleanup type of a kill: at once whatever was ordered before, after a replacement is healthy, or neither. */
const cleanupTypeOf = ({ override, waitForReplacementTask }: KillTaskRequest): TaskCleanupType =>
  override ? 'USER_REQUESTED_DESTROY' : waitForReplacementTask ? 'USER_REQUESTED_TASK_BOUNCE' : 'USER_REQUESTED';

/** Orders of users that a task has to go. */
@Injectable()
export class TaskKills {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly rules: ShellCommandRules,
    private readonly beforeKills: BeforeKills,
    private readonly disabled: DisabledActions,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Answers the cleanup that was ordered. One that was ordered before stands in the way unless `override` is set. */
  async kill(id: string, options: KillTaskRequest, caller: Caller): Promise<TaskCleanup> {
    this.rules.refuseBeforeKill(options.runShellCommandBeforeKill);
    const cleanup = await this.db.transaction((tx) => this.order(tx, id, options, caller));
    this.wake.signalOf(
      [cleanup.taskId.requestId],
      'cleanup',
      'shell-commands',
      ...(options.waitForReplacementTask ? (['scheduler'] as const) : []),
    );
    return cleanup;
  }

  private async order(tx: Transaction, id: string, options: KillTaskRequest, caller: Caller): Promise<TaskCleanup> {
    // Locked, so that it does not end before its cleanup stands.
    const [task] = await this.rows.tasks.find(tx, { taskIds: [id], lock: 'CHANGE' });
    if (!task) throw SchedulerError.taskNotFound(id);
    await this.disabled.refuse(options.waitForReplacementTask ? 'BOUNCE_TASK' : 'KILL_TASK', tx);
    const wanted: TaskCleanup = {
      user: caller.email,
      cleanupType: cleanupTypeOf(options),
      timestamp: this.clock.now(),
      taskId: task.taskId,
      message: options.message,
      actionId: options.actionId,
    };
    // Taken back with the rest if something else was ordered before.
    const cleanup = await this.beforeKills.queue(tx, wanted, options.runShellCommandBeforeKill);
    if (options.override) {
      await this.rows.taskCleanups.save(tx, cleanup);
      return cleanup;
    }
    const [killed] = await this.rows.killedTasks.ofActiveTasks(tx, id);
    if (killed || !(await this.rows.taskCleanups.create(tx, cleanup))) await this.replace(tx, cleanup, killed);
    if (options.waitForReplacementTask) await this.askForReplacement(tx, cleanup);
    return cleanup;
  }

  private async askForReplacement(tx: Transaction, { taskId, user, timestamp, message, actionId }: TaskCleanup) {
    const { requestId, deployId } = taskId;
    await this.rows.pendingRequests.enqueue(tx, {
      requestId,
      deployId,
      timestamp,
      user,
      pendingType: 'TASK_BOUNCE',
      message,
      actionId,
    });
  }

  /**
   * An order that was carried out stands in the way like one that waits: the task is told to end, and may take its time.
   * Older clients do not know `override` there: what they order replaces all but the end without delay.
   */
  private async replace(tx: Transaction, wanted: TaskCleanup, killed: KilledTaskIdRecord | undefined): Promise<void> {
    const { id } = wanted.taskId;
    const [waiting] = await this.rows.taskCleanups.ofActiveTasks(tx, id);
    const carriedOut = killed && {
      taskId: killed.taskId,
      cleanupType: killed.taskCleanupType,
      timestamp: killed.originalTimestamp,
    };
    const cleanup = waiting ?? carriedOut;
    if (this.settings.compatibility === '1.5' && cleanup?.cleanupType !== 'USER_REQUESTED_DESTROY') {
      return this.rows.taskCleanups.save(tx, wanted);
    }
    const state = waiting ? 'already has a cleanup' : 'is being killed already';
    const message = `Task '${id}' ${state} (${cleanup?.cleanupType}); set override to replace it`;
    throw new SchedulerError('CLEANUP_EXISTS', message, { extra: { cleanup } });
  }
}
