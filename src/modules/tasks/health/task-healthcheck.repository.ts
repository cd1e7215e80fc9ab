import { Inject, Injectable } from '@nestjs/common';
import { passed } from '../../../core/health/index.js';
import type { TaskHealthcheckResult } from '../../../core/model/task.js';
import { rows } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { OutboxRepository } from '../../events/outbox.repository.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/**
 * SQL: this result is of a passed check. It is the last word on its task, also when that was given by a user (who skips
 * checks from then on) while a check was in flight which then failed.
 */
export const hasPassed = (result: string): string =>
  `(${result}.error_message IS NULL AND coalesce(${result}.status_code, 0) BETWEEN 200 AND 299)`;

/** The stored results of health checks. */
@Injectable()
export class TaskHealthcheckRepository {
  constructor(
    private readonly outbox: OutboxRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Stores results of active tasks whose checks are still of interest; others are dropped. A passed check is the last
   * one of its task; of many, only the newest are kept. Answers the ids of the tasks whose results were stored.
   */
  async store(tx: Transaction, results: readonly TaskHealthcheckResult[]): Promise<string[]> {
    if (results.length === 0) return [];
    const column = <T>(pick: (result: TaskHealthcheckResult) => T): T[] => results.map(pick);
    const stored = await rows<{ task_id: string }>(
      tx,
      `INSERT INTO task_healthcheck
         (task_id, checked_at, startup, status_code, duration_millis, response_body, error_message)
       SELECT r.* FROM unnest($1::text[], $2::timestamptz[], $3::boolean[], $4::integer[], $5::integer[], $6::text[],
         $7::text[]) AS r (task_id, checked_at, startup, status_code, duration_millis, response_body, error_message)
       JOIN task t USING (task_id) WHERE t.ended_at IS NULL AND NOT t.healthchecks_finished
         AND NOT EXISTS (SELECT 1 FROM task_healthcheck h WHERE h.task_id = r.task_id AND ${hasPassed('h')})
       ON CONFLICT DO NOTHING RETURNING task_id`,
      [
        column((result) => result.taskId.id),
        column((result) => new Date(result.timestamp)),
        column((result) => result.startup),
        column((result) => result.statusCode ?? null),
        column((result) => result.durationMillis ?? null),
        column((result) => result.responseBody ?? null),
        column((result) => result.errorMessage ?? null),
      ],
    );
    const storedIds = stored.map((row) => row.task_id);
    const healthy = new Set(results.filter(passed).map((result) => result.taskId.id));
    const passedIds = storedIds.filter((id) => healthy.has(id));
    await this.finish(tx, passedIds);
    await this.outbox.healthy(tx, passedIds);
    await this.trim(tx, storedIds);
    return storedIds;
  }

  /** Drops the oldest results beyond the bound. Those that count toward the retries stay counted. */
  private async trim(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    await tx.query(
      `WITH full_up AS MATERIALIZED (
         SELECT task_id, checked_at FROM unnest($1::text[]) AS t (task_id) CROSS JOIN LATERAL
           (SELECT h.checked_at FROM task_healthcheck h WHERE h.task_id = t.task_id
            ORDER BY h.checked_at DESC OFFSET $2 LIMIT 1) beyond
       ), dropped AS (
         DELETE FROM task_healthcheck h USING full_up f WHERE h.task_id = f.task_id AND h.checked_at <= f.checked_at
         RETURNING h.task_id, h.startup
       ), counted AS (
         SELECT task_id, count(*) AS number FROM dropped WHERE NOT startup GROUP BY task_id
       ), locked AS MATERIALIZED (
         SELECT t.task_id, c.number FROM task t JOIN counted c USING (task_id) ORDER BY t.task_id FOR NO KEY UPDATE OF t
       )
       UPDATE task t SET healthchecks_dropped = healthchecks_dropped + l.number FROM locked l WHERE t.task_id = l.task_id`,
      [taskIds, this.settings.maxHealthcheckResultsPerTask],
    );
  }

  /** Nothing more is stored for these tasks, and of refused connections only the last result is kept. */
  async finish(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `UPDATE task SET healthchecks_finished = true WHERE task_id IN
         (SELECT task_id FROM task WHERE task_id = ANY ($1) ORDER BY task_id FOR NO KEY UPDATE)`,
      [taskIds],
    );
    await this.pruneStartup(tx, taskIds);
  }

  async pruneStartup(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    await tx.query(
      `DELETE FROM task_healthcheck h WHERE h.task_id = ANY ($1) AND h.startup
         AND h.checked_at < (SELECT max(last.checked_at) FROM task_healthcheck last WHERE last.task_id = h.task_id)`,
      [taskIds],
    );
  }

  /**
   * The request skips health checks from now on: its active tasks count as healthy, on the word of `user`. Results are
   * rows of the tasks' story and not of their scheduling, so any instance may write these.
   */
  async recordSkip(tx: Transaction, requestId: string, user: string | undefined, now: number): Promise<void> {
    await tx.query(
      `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code, duration_millis, response_body)
       SELECT task_id, $2, false, 200, 0, $3 FROM task
       WHERE request_id = $1 AND ended_at IS NULL AND NOT healthchecks_finished
       ON CONFLICT DO NOTHING`,
      [requestId, new Date(now), `Health checks skipped by ${user ?? 'an unnamed user'}`],
    );
  }
}
