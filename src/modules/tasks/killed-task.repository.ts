import { Inject, Injectable } from '@nestjs/common';
import { killGraceMillis } from '../../core/cleanup/index.js';
import { graceRules } from '../../core/launch/index.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { RequestCleanupType, TaskCleanupType } from '../../core/model/enums.js';
import type { KilledTaskIdRecord, TaskCleanup } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { ClockLimit } from '../../platform/clock-limit.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** A kill of a task because of its cleanup; its deploy, as long as it is known, says how much time it has to end. */
export interface OrderedKill {
  cleanup: TaskCleanup;
  deploy: Deploy | undefined;
}

interface KilledRow {
  task_id: string;
  killed_at: Date;
  first_killed_at: Date;
  request_cleanup_type: RequestCleanupType | null;
  task_cleanup_type: TaskCleanupType | null;
  retries: number;
}

/** A kill that is to be sent. */
export interface DecidedKill {
  taskId: string;
  slaveId: string;
  graceMillis: number;
  killedAt: Date;
}

/** Kills that were decided. The dispatcher sends those without sent_at; wake 'dispatch' after the commit. */
@Injectable()
export class KilledTaskRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /**
   * These tasks, each named once, are to be killed. One killed before is killed again with what is left of the shorter of
   * both graces. Their cleanups stay until the caller removes them.
   */
  async decideAll(tx: Queryable, kills: readonly OrderedKill[], now: number): Promise<void> {
    if (kills.length === 0) return;
    const types = kills.map(({ cleanup }) => cleanup.cleanupType);
    await tx.query(
      `INSERT INTO killed_task AS former
         (task_id, request_id, killed_at, first_killed_at, task_cleanup_type, request_cleanup_type, retries, grace_millis)
       SELECT t.task_id, t.request_id, $2, $2, k.task_cleanup_type, k.request_cleanup_type, 0, k.grace_millis
       FROM unnest($1::text[], $3::text[], $4::bigint[], $5::text[])
         AS k (task_id, task_cleanup_type, grace_millis, request_cleanup_type)
       JOIN task t USING (task_id) WHERE t.ended_at IS NULL
       ON CONFLICT (task_id) DO UPDATE SET killed_at = excluded.killed_at, retries = former.retries + 1, sent_at = NULL,
         task_cleanup_type = excluded.task_cleanup_type, request_cleanup_type = excluded.request_cleanup_type,
         grace_millis = least(former.grace_millis, excluded.grace_millis)`,
      [
        kills.map(({ cleanup }) => cleanup.taskId.id),
        new Date(now),
        types,
        kills.map(({ cleanup, deploy }) => killGraceMillis(cleanup.cleanupType, deploy, graceRules(this.settings))),
        types.map(requestCleanupOf),
      ],
    );
  }

  /** Types for which the live tasks of a request are being killed, by task id. */
  async reasons(tx: Transaction, requestId: string): Promise<Map<string, TaskCleanupType>> {
    const found = await rows<{ task_id: string; task_cleanup_type: TaskCleanupType }>(
      tx,
      'SELECT task_id, task_cleanup_type FROM killed_task WHERE request_id = $1 AND task_cleanup_type IS NOT NULL',
      [requestId],
    );
    return new Map(found.map((row) => [row.task_id, row.task_cleanup_type]));
  }

  /** Tasks, or one of them, whose kill was sent, and whose end has not been reported yet; in the order of task ids. */
  async ofActiveTasks(tx: Queryable, taskId?: string): Promise<KilledTaskIdRecord[]> {
    const found = await rows<KilledRow>(
      tx,
      `SELECT k.* FROM killed_task k JOIN task t USING (task_id)
       WHERE t.ended_at IS NULL AND ($1::text IS NULL OR task_id = $1) ORDER BY task_id`,
      [taskId ?? null],
    );
    return found.map((row) => ({
      taskId: parseTaskId(row.task_id)!, // made by this service, so it can be read
      timestamp: row.killed_at.getTime(),
      originalTimestamp: row.first_killed_at.getTime(),
      requestCleanupType: row.request_cleanup_type ?? undefined,
      taskCleanupType: row.task_cleanup_type ?? undefined,
      retries: row.retries,
    }));
  }

  /** Kills of active tasks that no machine has accepted yet, oldest first. */
  unsent(tx: Queryable): Promise<DecidedKill[]> {
    return rows(
      tx,
      `SELECT k.task_id AS "taskId", t.slave_id AS "slaveId", k.killed_at AS "killedAt",
         coalesce(k.grace_millis, (l.document->'launch'->>'killGraceMillis')::bigint, 0) AS "graceMillis"
       FROM killed_task k JOIN task t USING (task_id) JOIN task_launch l USING (task_id)
       WHERE k.sent_at IS NULL AND t.ended_at IS NULL ORDER BY k.killed_at, k.task_id`,
    );
  }

  /** The machine has accepted it. */
  async accepted(
    tx: Transaction,
    { taskId, killedAt }: DecidedKill,
    answer: 'KILLING' | 'GONE',
    now: number,
  ): Promise<void> {
    await rows(tx, 'SELECT 1 FROM task WHERE task_id = $1 FOR NO KEY UPDATE', [taskId]);
    // A kill that was decided anew meanwhile, perhaps with less grace, is still to be sent.
    await tx.query('UPDATE killed_task SET sent_at = $2 WHERE task_id = $1 AND killed_at = $3', [
      taskId,
      new Date(now),
      killedAt,
    ]);
    // The id is tombstoned: whether or not the launch ever got there, it can start nothing any more.
    if (answer === 'GONE') {
      await tx.query('UPDATE task SET answered_at = coalesce(answered_at, $2) WHERE task_id = $1', [
        taskId,
        new Date(now),
      ]);
    }
  }

  /** Kills of a time that is still to come count as sent now. Answers how many. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const taken = await rows(
      tx,
      `UPDATE killed_task SET killed_at = least(killed_at, $1), first_killed_at = least(first_killed_at, $1)
       WHERE killed_at > $2 OR first_killed_at > $2 RETURNING 1`,
      [now, latest],
    );
    return taken.length;
  }

  /** True if `repeat` would find something to do: a read, for the many passes in which it would not. */
  async needsRepeat(tx: Queryable, now: number): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM killed_task k LEFT JOIN task t ON t.task_id = k.task_id AND t.ended_at IS NULL
       WHERE t.task_id IS NULL OR k.killed_at < $1 LIMIT 1`,
      [new Date(now - this.settings.askDriverToKillTasksAgainAfterMillis)],
    );
    return found.length > 0;
  }

  /** Kills whose task still runs after a long while are sent again; those of ended tasks are forgotten. */
  async repeat(tx: Transaction, now: number): Promise<number> {
    await tx.query(
      `DELETE FROM killed_task k WHERE NOT EXISTS
         (SELECT 1 FROM task t WHERE t.task_id = k.task_id AND t.ended_at IS NULL)`,
    );
    const repeated = await rows(
      tx,
      `UPDATE killed_task SET killed_at = $1, retries = retries + 1, sent_at = NULL WHERE killed_at < $2
       RETURNING task_id`,
      [new Date(now), new Date(now - this.settings.askDriverToKillTasksAgainAfterMillis)],
    );
    return repeated.length;
  }
}

/** Tasks that a pause kills go because of the order for their request; all others for a reason of their own. */
const requestCleanupOf = (type: TaskCleanupType): RequestCleanupType | null => (type === 'PAUSE' ? 'PAUSING' : null);
