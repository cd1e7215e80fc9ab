import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { cleanupRules } from '../../../core/cleanup/index.js';
import type { Deploy } from '../../../core/model/deploy.js';
import type { RequestCleanupType, TaskCleanupType } from '../../../core/model/enums.js';
import type { TaskCleanup } from '../../../core/model/task.js';
import { rows } from '../../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/** Kills that were decided. Whoever dispatches them sends those without sent_at; wake 'dispatch' after the commit. */
@Injectable()
export class Kills {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /**
   * The task is to be killed, and its cleanup is done with. A task killed before is killed again with what is left of
   * the shorter of both graces.
   */
  async decide(tx: EntityManager, cleanup: TaskCleanup, deploy: Deploy | undefined, now: number): Promise<void> {
    await tx.query(
      `INSERT INTO killed_task AS former
         (task_id, request_id, killed_at, first_killed_at, task_cleanup_type, request_cleanup_type, retries, grace_millis)
       SELECT task_id, request_id, $2, $2, $3, $5, 0, $4 FROM task WHERE task_id = $1 AND ended_at IS NULL
       ON CONFLICT (task_id) DO UPDATE SET killed_at = excluded.killed_at, retries = former.retries + 1, sent_at = NULL,
         task_cleanup_type = excluded.task_cleanup_type, request_cleanup_type = excluded.request_cleanup_type,
         grace_millis = least(former.grace_millis, excluded.grace_millis)`,
      [
        cleanup.taskId.id,
        new Date(now),
        cleanup.cleanupType,
        this.graceMillis(cleanup.cleanupType, deploy),
        requestCleanupOf(cleanup.cleanupType),
      ],
    );
    await this.dropCleanup(tx, cleanup);
  }

  async dropCleanup(tx: EntityManager, { taskId, timestamp }: TaskCleanup): Promise<void> {
    // One that was overwritten since it was read is a new order, and is looked at in the next pass.
    await tx.query('DELETE FROM task_cleanup WHERE task_id = $1 AND created_at = $2', [taskId.id, new Date(timestamp)]);
  }

  /** Types for which the live tasks of a request are being killed, by task id. */
  async reasons(tx: EntityManager, requestId: string): Promise<Map<string, TaskCleanupType>> {
    const found = await rows<{ task_id: string; task_cleanup_type: TaskCleanupType }>(
      tx,
      'SELECT task_id, task_cleanup_type FROM killed_task WHERE request_id = $1 AND task_cleanup_type IS NOT NULL',
      [requestId],
    );
    return new Map(found.map((row) => [row.task_id, row.task_cleanup_type]));
  }

  /** Whether `repeat` would find something to do: a read, for the many passes in which it would not. */
  async needsRepeat(tx: EntityManager, now: number): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM killed_task k LEFT JOIN task t ON t.task_id = k.task_id AND t.ended_at IS NULL
       WHERE t.task_id IS NULL OR k.killed_at < $1 LIMIT 1`,
      [new Date(now - this.settings.askDriverToKillTasksAgainAfterMillis)],
    );
    return found.length > 0;
  }

  /** Kills whose task still runs after a long while are sent again; those of ended tasks are forgotten. */
  async repeat(tx: EntityManager, now: number): Promise<number> {
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

  private graceMillis(type: TaskCleanupType, deploy: Deploy | undefined): number {
    if (cleanupRules[type].forced) return 0;
    return deploy?.executorData?.sigKillProcessesAfterMillis ?? this.settings.hardKillAfterMillis;
  }
}

/** Tasks that a pause kills go because of the order for their request; all others for a reason of their own. */
const requestCleanupOf = (type: TaskCleanupType): RequestCleanupType | null => (type === 'PAUSE' ? 'PAUSING' : null);
