import { Injectable } from '@nestjs/common';
import type { ShellCommandOrder, ShellCommandReport } from '../../../cluster/cluster-driver.js';
import type { ShellCommandUpdateType } from '../../../core/model/enums.js';
import type { ShellCommand } from '../../../core/model/request.js';
import type { TaskId, TaskShellCommandRequest } from '../../../core/model/task.js';
import { type BeforeKillCommand, isFinal } from '../../../core/tasks/shell-commands.js';
import { parseTaskId } from '../../../core/task-id.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows } from '../../../platform/database/sql.js';

/** A command with the machine that is to run it. */
export interface QueuedCommand {
  order: ShellCommandOrder;
  slaveId: string;
}

/** Progress of a command of a task. */
export interface CommandUpdate extends ShellCommandReport {
  taskId: string;
  /** Epoch milliseconds. */
  at: number;
}

interface CommandRow {
  task_id: string;
  name: string;
  queued_at: Date;
  user_name: string | null;
  document: ShellCommand;
}

/** Commands of live tasks, and what became of them. Wake 'shell-commands' after a commit that queued one. */
@Injectable()
export class ShellCommandRepository {
  /** Queues a command for an active task whose row is locked in `tx`. */
  async queue(tx: Transaction, request: TaskShellCommandRequest): Promise<TaskShellCommandRequest> {
    return (await this.queueAll(tx, [request]))[0]!;
  }

  /**
   * At most one for each of these active tasks, whose rows are locked in `tx`; answered in the order given. Among the
   * commands of a task the time is unique: of two in the same millisecond the second one moves on.
   */
  async queueAll(tx: Transaction, requests: readonly TaskShellCommandRequest[]): Promise<TaskShellCommandRequest[]> {
    if (requests.length === 0) return [];
    const column = <T>(pick: (request: TaskShellCommandRequest) => T): T[] => requests.map(pick);
    const queued = await rows<{ task_id: string; queued_at: Date }>(
      tx,
      `INSERT INTO task_shell_command (task_id, name, queued_at, user_name, document)
       SELECT n.task_id, n.name, greatest(n.at, (SELECT max(queued_at) + interval '1 millisecond'
         FROM task_shell_command c WHERE c.task_id = n.task_id)), n.user_name, n.document
       FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::jsonb[])
         AS n (task_id, name, at, user_name, document)
       RETURNING task_id, queued_at`,
      [
        column(({ taskId }) => taskId.id),
        column(({ shellCommand }) => shellCommand.name),
        column(({ timestamp }) => new Date(timestamp)),
        column(({ user }) => user ?? null),
        column(({ shellCommand }) => JSON.stringify(shellCommand)),
      ],
    );
    const times = new Map(queued.map((row) => [row.task_id, row.queued_at.getTime()]));
    return requests.map((request) => ({ ...request, timestamp: times.get(request.taskId.id)! }));
  }

  /** Counts the commands of a task that wait or run. */
  async countUnfinished(tx: Transaction, taskId: string): Promise<number> {
    const [found] = await rows<{ count: number }>(
      tx,
      'SELECT count(*)::integer AS count FROM task_shell_command WHERE task_id = $1 AND NOT ended',
      [taskId],
    );
    return found!.count;
  }

  /** Forgets the oldest ones that have ended, but for so many of a task. */
  async prune(tx: Transaction, taskId: string, kept: number): Promise<void> {
    await tx.query(
      `WITH old AS (
         DELETE FROM task_shell_command WHERE task_id = $1 AND ended AND (name, queued_at) IN
           (SELECT name, queued_at FROM task_shell_command WHERE task_id = $1 ORDER BY queued_at DESC OFFSET $2)
         RETURNING name, queued_at)
       DELETE FROM task_shell_command_update u USING old
       WHERE u.task_id = $1 AND u.name = old.name AND u.queued_at = old.queued_at`,
      [taskId, kept],
    );
  }

  /** Commands that are not sent yet, oldest first. */
  async queued(tx: Queryable): Promise<TaskShellCommandRequest[]> {
    const found = await rows<CommandRow>(
      tx,
      `SELECT c.* FROM task_shell_command c JOIN task t USING (task_id)
       WHERE c.dispatched_at IS NULL AND t.ended_at IS NULL ORDER BY c.queued_at, c.task_id`,
    );
    return found.map(toRequest);
  }

  /** Commands for machines that know the task, at most `limit`. */
  async toDispatch(tx: Queryable, limit: number): Promise<QueuedCommand[]> {
    const found = await rows<CommandRow & { slave_id: string }>(
      tx,
      `SELECT c.*, t.slave_id FROM task_shell_command c JOIN task t USING (task_id)
       WHERE c.dispatched_at IS NULL AND t.ended_at IS NULL AND t.answered_at IS NOT NULL ORDER BY c.queued_at, c.task_id LIMIT $1`,
      [limit],
    );
    return found.map((row) => ({
      slaveId: row.slave_id,
      order: {
        taskId: row.task_id,
        name: row.name,
        timestamp: row.queued_at.getTime(),
        options: row.document.options ?? [],
        logfileName: row.document.logfileName,
      },
    }));
  }

  async markDispatched(tx: Transaction, { taskId, name, timestamp }: ShellCommandOrder, now: number): Promise<void> {
    await tx.query(
      `UPDATE task_shell_command SET dispatched_at = coalesce(dispatched_at, $4)
       WHERE task_id = $1 AND name = $2 AND queued_at = $3`,
      [taskId, name, new Date(timestamp), new Date(now)],
    );
  }

  /**
   * In the order given. One of a command that is not known (any more) is dropped, and so is one that says again what was
   * said, or that comes after the end. Answers whether commands ended.
   */
  async record(tx: Queryable, updates: readonly CommandUpdate[]): Promise<boolean> {
    let ended = false;
    for (const { taskId, at, name, timestamp, updateType, message, outputFilename } of updates) {
      const key = [taskId, name, new Date(timestamp)];
      const [command] = await rows<{ ended: boolean }>(
        tx,
        `UPDATE task_shell_command SET dispatched_at = coalesce(dispatched_at, $4), ended = $5
         WHERE task_id = $1 AND name = $2 AND queued_at = $3 AND NOT ended RETURNING ended`,
        [...key, new Date(at), isFinal(updateType)],
      );
      if (!command) continue;
      await tx.query(
        `INSERT INTO task_shell_command_update (task_id, name, queued_at, update_type, at, message, output_filename)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
        [...key, updateType, new Date(at), message ?? null, outputFilename ?? null],
      );
      ended ||= command.ended;
    }
    return ended;
  }

  /** Tasks that have ended: their commands have, too, whether or not their machines said so. */
  async endThoseOf(tx: Queryable, taskIds: readonly string[], now: number): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `WITH ended AS (
         UPDATE task_shell_command c SET ended = true, dispatched_at = coalesce(c.dispatched_at, $2)
         FROM task_shell_command before
         WHERE c.task_id = ANY ($1) AND NOT c.ended
           AND before.task_id = c.task_id AND before.name = c.name AND before.queued_at = c.queued_at
         RETURNING c.task_id, c.name, c.queued_at, before.dispatched_at IS NOT NULL AS was_sent)
       INSERT INTO task_shell_command_update (task_id, name, queued_at, update_type, at, message)
       SELECT task_id, name, queued_at, CASE WHEN was_sent THEN 'FAILED' ELSE 'INVALID' END, $2,
         CASE WHEN was_sent THEN 'The task ended' ELSE 'The task ended before the command was sent' END FROM ended
       ON CONFLICT DO NOTHING`,
      [taskIds, new Date(now)],
    );
  }

  /** Commands by task id, as far as they are known: for each task the one of this name and time. */
  async find(
    tx: Transaction,
    ids: readonly { taskId: TaskId; name: string; timestamp: number }[],
  ): Promise<Map<string, BeforeKillCommand>> {
    if (ids.length === 0) return new Map();
    const found = await rows<{ task_id: string; queued_at: Date; updates: ShellCommandUpdateType[] }>(
      tx,
      `SELECT c.task_id, c.queued_at, ARRAY(SELECT u.update_type FROM task_shell_command_update u
         WHERE u.task_id = c.task_id AND u.name = c.name AND u.queued_at = c.queued_at) AS updates
       FROM task_shell_command c
       JOIN unnest($1::text[], $2::text[], $3::timestamptz[]) AS w (task_id, name, queued_at)
         USING (task_id, name, queued_at)`,
      [
        ids.map(({ taskId }) => taskId.id),
        ids.map(({ name }) => name),
        ids.map(({ timestamp }) => new Date(timestamp)),
      ],
    );
    return new Map(found.map((row) => [row.task_id, { queuedAt: row.queued_at.getTime(), updates: row.updates }]));
  }
}

const toRequest = (row: CommandRow): TaskShellCommandRequest => ({
  // Task ids are made by this service, so each can be read.
  taskId: parseTaskId(row.task_id)!,
  user: row.user_name ?? undefined,
  timestamp: row.queued_at.getTime(),
  shellCommand: row.document,
});
